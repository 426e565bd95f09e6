"""Helpers of the passes that separate code of the host from code of a device."""

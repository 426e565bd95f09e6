"""What rules of schedules are."""


class ScheduleRule:
    """A rule that `ApplyDefaultSchedule` takes."""

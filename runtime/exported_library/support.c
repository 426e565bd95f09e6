/* What exported functions have in common: checks of arguments, errors, results.

   Functions follow the convention of tvm-ffi: arguments and the result are `Any`, which
   is a type and a value; the status 0 is success, and -1 that an error is set. Layouts and
   numbers are those of tvm/ffi/c_api.h and dlpack.h, for machines of 64 bits. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XT_STRING(text) #text
#define XT_PREFIX(prefix) XT_STRING(prefix)
/* The symbol of a function or global, which need not be a name of C. */
#define XT_SYMBOL(name) __asm__(XT_PREFIX(__USER_LABEL_PREFIX__) name)
#define XT_EXPORT __attribute__((visibility("default")))
#define XT_UNUSED __attribute__((unused))

enum { XT_NONE = 0, XT_INT = 1, XT_BOOL = 2, XT_FLOAT = 3, XT_DLTENSOR = 7 };
enum { XT_OBJECTS = 64, XT_SHAPE = 69, XT_TENSOR = 70, XT_ARRAY = 71 };
enum { XT_CPU = 1, XT_CUDA_HOST = 3 };
enum { XT_OBJECT_BYTES = 24, XT_ALIGNMENT = 64, XT_MOST_DIMENSIONS = 64 };

typedef struct {
  int32_t type;
  uint32_t padding;
  union { int64_t integer; double number; void *pointer; } value;
} Any;

typedef struct { uint8_t code, bits; uint16_t lanes; } DataType;

typedef struct {
  void *data;
  int32_t device_type, device_id, ndim;
  DataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;

typedef struct Managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct Managed *);
  uint64_t flags;
  Tensor tensor;
  int64_t sizes[2 * XT_MOST_DIMENSIONS];
} Managed;

typedef struct { const char *data; size_t size; } Text;
typedef struct { const int64_t *data; size_t size; } Sizes;

extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
extern int TVMFFITensorFromDLPackVersioned(Managed *, int32_t, int32_t, void **);
extern int TVMFFIFunctionGetGlobal(const Text *, void **);
extern int TVMFFIFunctionCall(void *, Any *, int32_t, Any *);
extern int TVMFFIObjectDecRef(void *);

/* ---- errors ---- */

typedef struct { char text[2048]; size_t length; } Message;

XT_UNUSED static void xt_write(Message *to, const char *format, ...) {
  va_list values;
  size_t left = sizeof to->text - to->length;
  va_start(values, format);
  int count = vsnprintf(to->text + to->length, left, format, values);
  va_end(values);
  if (count > 0) to->length += (size_t)count < left ? (size_t)count : left - 1;
}

XT_UNUSED static int xt_raise(const char *kind, const char *format, ...) {
  char text[2048];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  TVMFFIErrorSetRaisedFromCStr(kind, text);
  return -1;
}

XT_UNUSED static const char *xt_type(const Any *value) {
  switch (value->type) {
    case XT_NONE: return "None";
    case XT_INT: return "int";
    case XT_BOOL: return "bool";
    case XT_FLOAT: return "float";
    case 4: return "pointer";
    case 5: return "dtype";
    case 6: return "device";
    case XT_DLTENSOR: case XT_TENSOR: return "array";
    case 8: case 11: case 65: return "str";
    case 9: case 12: case 66: return "bytes";
    case 68: return "function";
    case XT_SHAPE: return "Shape";
    case XT_ARRAY: return "Array";
    default: return "object";
  }
}

/* The name of a dtype but for its bits, by DLPack's code; NULL for others. */
XT_UNUSED static const char *xt_kind(int code) {
  switch (code) {
    case 0: return "int";
    case 1: return "uint";
    case 2: return "float";
    case 4: return "bfloat";
    case 5: return "complex";
    default: return NULL;
  }
}

XT_UNUSED static void xt_write_sizes(Message *to, const int64_t *sizes, int64_t count) {
  xt_write(to, "(");
  for (int64_t i = 0; i < count; ++i)
    xt_write(to, i ? ", %" PRId64 : "%" PRId64, sizes[i]);
  xt_write(to, count == 1 ? ",)" : ")");
}

XT_UNUSED static int xt_count(const char *function, int32_t count, int32_t wanted) {
  if (count == wanted) return 0;
  return xt_raise("TypeError", "@%s takes %d argument%s, got %d", function, wanted,
                  wanted == 1 ? "" : "s", count);
}

/* ---- extents ---- */

/* What a computation with sizes met: XT_TOO_LARGE, XT_BY_ZERO. */
enum { XT_TOO_LARGE = 1, XT_BY_ZERO = 2 };

XT_UNUSED static int64_t xt_add(int *fault, int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) *fault |= XT_TOO_LARGE;
  return result;
}

XT_UNUSED static int64_t xt_mul(int *fault, int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) *fault |= XT_TOO_LARGE;
  return result;
}

XT_UNUSED static int64_t xt_floordiv(int *fault, int64_t a, int64_t b) {
  if (b == 0) { *fault |= XT_BY_ZERO; return 0; }
  if (b == -1) {
    if (a == INT64_MIN) { *fault |= XT_TOO_LARGE; return 0; }
    return -a;
  }
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

XT_UNUSED static int64_t xt_floormod(int *fault, int64_t a, int64_t b) {
  if (b == 0) { *fault |= XT_BY_ZERO; return 0; }
  if (b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

XT_UNUSED static int64_t xt_min(int *fault, int64_t a, int64_t b) {
  (void)fault;
  return a < b ? a : b;
}

XT_UNUSED static int64_t xt_max(int *fault, int64_t a, int64_t b) {
  (void)fault;
  return a > b ? a : b;
}

XT_UNUSED static int xt_fault(const char *function, const char *expression, int fault) {
  if (!fault) return 0;
  const char *what = fault & XT_BY_ZERO ? "divides by zero" : "is too large";
  return xt_raise("ValueError", "@%s: the extent %s %s", function, expression, what);
}

/* ---- arrays ---- */

typedef struct {
  const char *function, *name, *expected;
  /* `expected` is the dtype with the shape, `dtype` the dtype alone. */
  const char *dtype;
  DataType type;
  int32_t rank;
  int bytes, is_compact;
} Parameter;

typedef struct {
  char *data;
  const int64_t *shape;
  int64_t strides[XT_MOST_DIMENSIONS];
  /* The bytes from the first element to the lowest and behind the highest address. */
  int64_t low, high;
} Array;

XT_UNUSED static int xt_bounds(const Parameter *of, const Tensor *tensor, Array *to) {
  int is_empty = 0, fault = 0;
  int64_t compact = 1;
  to->low = to->high = 0;
  for (int32_t i = tensor->ndim - 1; i >= 0; --i) {
    int64_t extent = tensor->shape[i];
    if (extent < 0)
      return xt_raise("ValueError", "@%s: argument '%s' has the extent %" PRId64,
                      of->function, of->name, extent);
    to->strides[i] = tensor->strides ? tensor->strides[i] : compact;
    is_empty |= extent == 0;
    compact = xt_mul(&fault, compact, extent ? extent : 1);
  }
  compact = 1;
  for (int32_t i = tensor->ndim - 1; i >= 0 && !is_empty; --i) {
    int64_t extent = tensor->shape[i];
    if (of->is_compact && extent != 1 && to->strides[i] != compact)
      return xt_raise("ValueError", "@%s: argument '%s' must be C-contiguous; pass a "
                      "contiguous copy of it", of->function, of->name);
    compact *= extent;
    int64_t span = xt_mul(&fault, xt_mul(&fault, extent - 1, to->strides[i]), of->bytes);
    if (span < 0) to->low = xt_add(&fault, to->low, span);
    else to->high = xt_add(&fault, to->high, span);
  }
  to->high = is_empty ? 0 : xt_add(&fault, to->high, of->bytes);
  if (fault)
    return xt_raise("ValueError", "@%s: argument '%s' is too large", of->function,
                    of->name);
  if (!is_empty && !tensor->data)
    return xt_raise("ValueError", "@%s: argument '%s' has no data", of->function,
                    of->name);
  return 0;
}

XT_UNUSED static int xt_array(const Parameter *of, const Any *value, Array *to) {
  const char *function = of->function, *name = of->name;
  if (value->type != XT_TENSOR && value->type != XT_DLTENSOR)
    return xt_raise("TypeError", "@%s: argument '%s' must be an array %s, got %s",
                    function, name, of->expected, xt_type(value));
  const char *address = value->value.pointer;
  if (!address)
    return xt_raise("TypeError", "@%s: argument '%s' is a null pointer", function, name);
  const Tensor *tensor =
      (const void *)(address + (value->type == XT_TENSOR ? XT_OBJECT_BYTES : 0));
  if (tensor->device_type != XT_CPU && tensor->device_type != XT_CUDA_HOST)
    return xt_raise("ValueError", "@%s: argument '%s' must be in memory of the CPU, is "
                    "on the device (%d, %d)", function, name, tensor->device_type,
                    tensor->device_id);
  DataType got = tensor->dtype;
  if (got.code != of->type.code || got.bits != of->type.bits || got.lanes != 1) {
    if (got.code == 6 && got.bits == 8 && got.lanes == 1)
      return xt_raise("TypeError", "@%s: argument '%s' must have dtype %s, got bool",
                      function, name, of->dtype);
    if (xt_kind(got.code) && got.lanes == 1)
      return xt_raise("TypeError", "@%s: argument '%s' must have dtype %s, got %s%d",
                      function, name, of->dtype, xt_kind(got.code), got.bits);
    return xt_raise("TypeError", "@%s: argument '%s' must have dtype %s, got the type "
                    "code %d of %d bits, %d lanes", function, name, of->dtype, got.code,
                    got.bits, got.lanes);
  }
  if (tensor->ndim != of->rank)
    return xt_raise("ValueError", "@%s: argument '%s' must have rank %d, got %d",
                    function, name, of->rank, tensor->ndim);
  if (xt_bounds(of, tensor, to)) return -1;
  to->shape = tensor->shape;
  to->data = (char *)tensor->data + tensor->byte_offset;
  if (to->high && (uintptr_t)to->data % (unsigned)of->bytes)
    return xt_raise("ValueError", "@%s: argument '%s' must be aligned to %d bytes; pass "
                    "a copy of it", function, name, of->bytes);
  return 0;
}

XT_UNUSED static int xt_extent(const Parameter *of, const int64_t *shape, int64_t rank,
                               int64_t axis, int64_t wanted, const char *expression) {
  if (shape[axis] == wanted) return 0;
  Message text = {.length = 0};
  xt_write(&text, "@%s: argument '%s' must have extent ", of->function, of->name);
  if (expression) xt_write(&text, "%s = ", expression);
  xt_write(&text, "%" PRId64 " on axis %" PRId64 ", got shape ", wanted, axis);
  xt_write_sizes(&text, shape, rank);
  return xt_raise("ValueError", "%s", text.text);
}

XT_UNUSED static int xt_stride(const Parameter *of, const Array *array, int64_t axis,
                               int64_t wanted) {
  if (array->shape[axis] <= 1 || array->strides[axis] == wanted) return 0;
  Message text = {.length = 0};
  xt_write(&text, "@%s: argument '%s' must have the stride %" PRId64 " on axis %" PRId64
           ", got strides ", of->function, of->name, wanted, axis);
  xt_write_sizes(&text, array->strides, of->rank);
  return xt_raise("ValueError", "%s", text.text);
}

XT_UNUSED static int xt_apart(const Parameter *p, const Array *a, const Parameter *q,
                              const Array *b) {
  uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
  if (a->low == a->high || b->low == b->high) return 0;
  if (x + (uintptr_t)a->high <= y + (uintptr_t)b->low) return 0;
  if (y + (uintptr_t)b->high <= x + (uintptr_t)a->low) return 0;
  return xt_raise("ValueError", "@%s: arguments '%s' and '%s' must not overlap; pass a "
                  "copy of one", p->function, p->name, q->name);
}

/* ---- numbers ---- */

XT_UNUSED static int xt_integer(const char *function, const char *name,
                                const char *dtype, const Any *value, int64_t low,
                                uint64_t high, int64_t *to) {
  if (value->type != XT_INT)
    return xt_raise("TypeError", "@%s: argument '%s' must be an integer (%s), got %s",
                    function, name, dtype, xt_type(value));
  int64_t found = value->value.integer;
  if (found < low || (found > 0 && (uint64_t)found > high))
    return xt_raise("ValueError", "@%s: argument '%s' must be within %" PRId64 " and %"
                    PRIu64 ", got %" PRId64, function, name, low, high, found);
  *to = found;
  return 0;
}

XT_UNUSED static int xt_bool(const char *function, const char *name, const Any *value,
                             int64_t *to) {
  if (value->type != XT_BOOL)
    return xt_raise("TypeError", "@%s: argument '%s' must be a bool, got %s", function,
                    name, xt_type(value));
  *to = value->value.integer != 0;
  return 0;
}

XT_UNUSED static int xt_number(const char *function, const char *name, const char *dtype,
                               const Any *value, double limit, double *to) {
  if (value->type != XT_FLOAT && value->type != XT_INT)
    return xt_raise("TypeError", "@%s: argument '%s' must be a number (%s), got %s",
                    function, name, dtype, xt_type(value));
  double found = value->type == XT_FLOAT ? value->value.number
                                         : (double)value->value.integer;
  if (found - found == 0 && (found > limit || found < -limit))
    return xt_raise("ValueError", "@%s: argument '%s' must be within +-%g, got %g",
                    function, name, limit, found);
  *to = found;
  return 0;
}

XT_UNUSED static int xt_value(const char *function, const char *name, int64_t found,
                              int64_t wanted, const char *expression) {
  if (found == wanted) return 0;
  return xt_raise("ValueError", "@%s: argument '%s' must be %s%s%" PRId64 ", got %"
                  PRId64, function, name, expression ? expression : "",
                  expression ? " = " : "", wanted, found);
}

XT_UNUSED static int xt_fits(const char *function, const char *symbol, int64_t value,
                             int64_t limit) {
  if (value <= limit) return 0;
  return xt_raise("ValueError", "@%s: '%s' is %" PRId64 ", but its dtype holds at most %"
                  PRId64, function, symbol, value, limit);
}

/* ---- containers of tvm-ffi, through its functions ---- */

XT_UNUSED static void xt_release(Any *value) {
  if (value->type >= XT_OBJECTS) TVMFFIObjectDecRef(value->value.pointer);
  value->type = XT_NONE;
}

XT_UNUSED static int xt_call(const char *name, Any *args, int32_t count, Any *result) {
  void *function = NULL;
  Text text = {name, strlen(name)};
  result->type = XT_NONE;
  result->padding = 0;
  result->value.integer = 0;
  if (TVMFFIFunctionGetGlobal(&text, &function)) return -1;
  if (!function)
    return xt_raise("RuntimeError", "tvm-ffi has no function %s; use a version that has",
                    name);
  int status = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}

/* Field `index` of `count` of an argument that is a tuple; the tuple keeps it alive. */
XT_UNUSED static int xt_field(const char *function, const char *name, const Any *tuple,
                              int64_t index, int64_t count, Any *field) {
  Any size, args[2] = {*tuple, {XT_INT, 0, {index}}};
  if (tuple->type != XT_ARRAY)
    return xt_raise("TypeError", "@%s: argument '%s' must be a tuple of %" PRId64
                    ", got %s", function, name, count, xt_type(tuple));
  if (xt_call("ffi.ArraySize", args, 1, &size)) return -1;
  if (size.value.integer != count)
    return xt_raise("TypeError", "@%s: argument '%s' must be a tuple of %" PRId64
                    ", got Array of %" PRId64, function, name, count,
                    size.value.integer);
  if (xt_call("ffi.ArrayGetItem", args, 2, field)) return -1;
  if (field->type >= XT_OBJECTS) TVMFFIObjectDecRef(field->value.pointer);
  return 0;
}

/* A shape of `rank` extents: a Shape, or a tuple of integers. */
XT_UNUSED static int xt_shape(const char *function, const char *name, const Any *value,
                              int64_t rank, int64_t *to) {
  if (value->type == XT_SHAPE) {
    const Sizes *sizes =
        (const void *)((const char *)value->value.pointer + XT_OBJECT_BYTES);
    if ((int64_t)sizes->size != rank)
      return xt_raise("ValueError", "@%s: argument '%s' must have rank %" PRId64
                      ", got %zu", function, name, rank, sizes->size);
    for (int64_t i = 0; i < rank; ++i) to[i] = sizes->data[i];
  } else {
    for (int64_t i = 0; i < rank || i == 0; ++i) {
      Any field;
      if (rank == 0) return value->type == XT_ARRAY ? 0 : xt_raise("TypeError",
          "@%s: argument '%s' must be a shape, got %s", function, name, xt_type(value));
      if (xt_field(function, name, value, i, rank, &field)) return -1;
      if (xt_integer(function, name, "int64", &field, 0, INT64_MAX, to + i)) return -1;
    }
  }
  for (int64_t i = 0; i < rank; ++i)
    if (to[i] < 0)
      return xt_raise("ValueError", "@%s: argument '%s' must hold extents of at least 0, "
                      "got %" PRId64, function, name, to[i]);
  return 0;
}

/* ---- results ---- */

XT_UNUSED static void xt_free_result(Managed *made) { free(made); }

/* An array of memory of its own: one block holds it and its description. */
XT_UNUSED static int xt_make(const Parameter *of, const int64_t *shape, Managed **to) {
  int fault = 0;
  int64_t bytes = of->bytes;
  for (int32_t i = 0; i < of->rank; ++i) {
    if (shape[i] < 0)
      return xt_raise("ValueError", "@%s: %s would have the extent %" PRId64,
                      of->function, of->name, shape[i]);
    bytes = xt_mul(&fault, bytes, shape[i] ? shape[i] : 1);
  }
  bytes = xt_add(&fault, bytes, (int64_t)sizeof(Managed) + 2 * XT_ALIGNMENT);
  Managed *made = fault ? NULL : malloc((size_t)bytes);
  if (!made) {
    Message text = {.length = 0};
    xt_write(&text, "@%s: out of memory: %s is %s", of->function, of->name, of->dtype);
    xt_write_sizes(&text, shape, of->rank);
    return xt_raise("MemoryError", "%s", text.text);
  }
  memset(made, 0, sizeof *made);
  made->major = 1;
  made->deleter = xt_free_result;
  made->tensor.device_type = XT_CPU;
  made->tensor.ndim = of->rank;
  made->tensor.dtype = of->type;
  made->tensor.shape = made->sizes;
  made->tensor.strides = made->sizes + XT_MOST_DIMENSIONS;
  int64_t stride = 1;
  for (int32_t i = of->rank - 1; i >= 0; --i) {
    made->tensor.shape[i] = shape[i];
    made->tensor.strides[i] = stride;
    stride *= shape[i] ? shape[i] : 1;
  }
  uintptr_t start = (uintptr_t)(made + 1) + XT_ALIGNMENT - 1;
  made->tensor.data = (void *)(start / XT_ALIGNMENT * XT_ALIGNMENT);
  *to = made;
  return 0;
}

/* The result as a value; who calls has no more to free. */
XT_UNUSED static int xt_give(Managed **made, Any *result) {
  void *handle = NULL;
  if (TVMFFITensorFromDLPackVersioned(*made, 0, 0, &handle)) return -1;
  *made = NULL;
  result->type = XT_TENSOR;
  result->padding = 0;
  result->value.pointer = handle;
  return 0;
}

XT_UNUSED static void xt_give_integer(int32_t type, int64_t value, Any *result) {
  result->type = type;
  result->padding = 0;
  result->value.integer = value;
}

XT_UNUSED static void xt_give_number(double value, Any *result) {
  result->type = XT_FLOAT;
  result->padding = 0;
  result->value.number = value;
}

XT_UNUSED static int xt_give_shape(const int64_t *sizes, int32_t rank, Any *result) {
  Any fields[XT_MOST_DIMENSIONS];
  for (int32_t i = 0; i < rank; ++i) xt_give_integer(XT_INT, sizes[i], fields + i);
  return xt_call("ffi.Shape", fields, rank, result);
}

XT_UNUSED static int xt_give_tuple(Any *fields, int32_t count, Any *result) {
  int status = xt_call("ffi.Array", fields, count, result);
  for (int32_t i = 0; i < count; ++i) xt_release(fields + i);
  return status;
}

/* ---- failed assertions of the code ---- */

/* Raises the message whose address the code has left, if any. `{NAME}` in it stands for
   a number that the code has stored. */
XT_UNUSED static int xt_failed(int64_t address, const char *out_of_memory,
                               const char *plain, int count, const char *const *names,
                               const int64_t *const *numbers) {
  if (!address) return 0;
  const char *from = (const char *)(uintptr_t)address;
  if (!strncmp(from, out_of_memory, strlen(out_of_memory)))
    return xt_raise("MemoryError", "%s", from);
  Message text = {.length = 0};
  if (strncmp(from, plain, strlen(plain))) xt_write(&text, "assertion failed: ");
  while (*from) {
    int place = 0;
    while (place < count && strncmp(from, names[place], strlen(names[place]))) ++place;
    if (place < count) {
      xt_write(&text, "%" PRId64, *numbers[place]);
      from += strlen(names[place]);
    } else {
      xt_write(&text, "%c", *from++);
    }
  }
  return xt_raise("RuntimeError", "%s", text.text);
}

package manifest

// AppendVersion appends the encoding of a version, for formats that contain one.
func AppendVersion(dst []byte, v *Version) []byte { return appendVersion(dst, v) }

// DecodeVersion decodes what [AppendVersion] has appended, and verifies the version. The error says
// what is wrong, not where.
func DecodeVersion(p []byte) (*Version, error) { return decodeVersion(p) }

// AppendEdit appends the encoding of an edit, for formats that contain one.
func AppendEdit(dst []byte, e *Edit) []byte { return appendEdit(dst, e) }

// DecodeEdit decodes what [AppendEdit] has appended. Whether the edit fits a version is for
// [Version.Apply] to say. The error says what is wrong, not where.
func DecodeEdit(p []byte) (*Edit, error) { return decodeEdit(p) }

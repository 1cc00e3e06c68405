package keyspace

// Direction is which way a cursor travels through keys.
type Direction bool

const (
	Forward Direction = false // to greater keys
	Reverse Direction = true  // to smaller keys
)

package feed

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// appendJSON appends a value as JSON.
func appendJSON(dst []byte, v any) ([]byte, error) {
	p, err := json.Marshal(v)
	return append(dst, p...), err
}

// plain returns a value of a field as one that every JSON can hold.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case time.Time:
		return v.Format(time.RFC3339Nano) // unlike its MarshalJSON, also for the year 10000
	case [16]byte:
		return uuidText(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = plain(v[i])
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, value := range v {
			all[name] = plain(value)
		}
		return all
	case map[any]any:
		all := make(map[string]any, len(v))
		for key, value := range v {
			all[fmt.Sprint(plain(key))] = plain(value)
		}
		return all
	}
	return v
}

// uuidText returns a UUID in its usual form.
func uuidText(id [16]byte) string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

package strategies

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
)

// User is the study's record.
type User struct {
	ID          int64   `json:"id" stoat:"id,key"`
	Username    string  `json:"username" stoat:"username"`
	Email       string  `json:"email" stoat:"email"`
	FirstName   string  `json:"first_name" stoat:"first_name"`
	LastName    string  `json:"last_name" stoat:"last_name"`
	Age         int32   `json:"age" stoat:"age"`
	Height      float32 `json:"height" stoat:"height"`
	Weight      float32 `json:"weight" stoat:"weight"`
	Balance     float64 `json:"balance" stoat:"balance"`
	IsActive    bool    `json:"is_active" stoat:"is_active"`
	CreatedAt   int64   `json:"created_at" stoat:"created_at"`
	UpdatedAt   int64   `json:"updated_at" stoat:"updated_at"`
	LoginCount  int32   `json:"login_count" stoat:"login_count"`
	Score       float64 `json:"score" stoat:"score"`
	Description string  `json:"description" stoat:"description"`
}

// syllables make up the words of descriptions, which therefore compress about as well as natural
// language.
const syllables = `an ber co dra el fin go har il jun kel lo mar ne or pen qui ros sa ter un ves wi
ya zor al bri cal den er fro gar hol in kri lem mo nar ol pri ra sel tha ur vin wen ash bo cru dol
eth fa gri hem is kan lu mir nor ost pal rin sto tu`

// descriptionBytes is the length of a description.
const descriptionBytes = 95

// Users returns the study's data set. The same seed gives the same records.
func Users(seed uint64) (*Data, error) {
	schema, err := newSchema(reflect.TypeFor[User]())
	if err != nil {
		return nil, err
	}
	source := new(rand.PCG)
	random := rand.New(source)
	parts := strings.Fields(syllables)
	fill := func(r Record, id int) {
		source.Seed(seed, uint64(id))
		if u, ok := r.whole.(*User); ok {
			u.fill(id, random, parts)
		}
	}
	return &Data{
		schema: schema,
		fill:   fill,
		sum:    schema.field("balance"),
		update: schema.field("login_count"),
	}, nil
}

// fill sets all fields of the user with the number id.
func (u *User) fill(id int, random *rand.Rand, parts []string) {
	const day, firstDay = 24 * 60 * 60, 1_600_000_000
	u.ID = int64(id)
	u.Username = fmt.Sprintf("user_%d", id)
	u.Email = fmt.Sprintf("user%d@example.com", id)
	u.FirstName = fmt.Sprintf("First_%d", id)
	u.LastName = fmt.Sprintf("Last_%d", id)
	u.Age = 18 + random.Int32N(70)
	u.Height = 1.4 + 0.7*random.Float32()
	u.Weight = 40 + 80*random.Float32()
	u.Balance = 10_000 * random.Float64()
	u.IsActive = random.IntN(2) == 1
	u.CreatedAt = firstDay + random.Int64N(1000*day)
	u.UpdatedAt = u.CreatedAt + random.Int64N(1000*day)
	u.LoginCount = random.Int32N(1_000_000)
	u.Score = 100 * random.Float64()
	text := make([]byte, 0, descriptionBytes+20)
	for len(text) < descriptionBytes {
		for range 1 + random.IntN(3) {
			text = append(text, parts[random.IntN(len(parts))]...)
		}
		text = append(text, ' ')
	}
	u.Description = string(text[:descriptionBytes])
}

package docs

import (
	"strconv"
	"time"
)

const jsonTime = "2006-01-02T15:04:05.000Z"

// json appends an object like that of a shop's API: an order with its customer, its items and, to
// fill the size, comments. It has no spaces between tokens.
func (w *writer) json(bytes int) {
	start := len(w.buf)
	w.serial++
	w.add(`{"id":"`)
	w.uuid()
	w.add(`","number":`, strconv.Itoa(100_000+w.serial), `,"status":"`,
		w.pick("open", "paid", "shipped", "returned"), `","created_at":"`)
	w.time(jsonTime, time.Minute)
	w.add(`","updated_at":"`)
	w.time(jsonTime, time.Second)
	w.add(`","customer":`)
	w.jsonPerson(fullPerson)
	w.add(`,"items":[`)
	w.jsonItem()
	for len(w.buf)-start < bytes/3 {
		w.add(",")
		w.jsonItem()
	}
	w.add(`],"total_cents":`)
	w.number(500, 500_000)
	w.add(`,"currency":"EUR","comments":[`)
	w.jsonComment()
	for len(w.buf)-start < bytes-len(`]}`) {
		w.add(",")
		w.jsonComment()
	}
	w.add(`]}`)
}

// personDetail says how much of a person an object has.
type personDetail bool

const (
	nameOnly   personDetail = false
	fullPerson personDetail = true
)

func (w *writer) jsonPerson(detail personDetail) {
	p := w.person()
	w.add(`{"id":`, strconv.Itoa(p.id), `,"login":"`, p.login, `","name":"`, p.name, `"`)
	if detail == fullPerson {
		w.add(`,"email":"`, p.mail, `","verified":`, w.pick("true", "true", "false"),
			`,"address":{"street":"`, w.title(), ` Street `)
		w.number(1, 200)
		w.add(`","postal_code":"`)
		w.number(10_000, 100_000)
		w.add(`","city":"`, w.title(), `","country":"`, w.pick("DE", "FR", "US", "NL"), `"}`)
	}
	w.add(`}`)
}

func (w *writer) jsonItem() {
	w.add(`{"sku":"`)
	w.hex(4)
	w.add(`","title":"`, w.title(), ` `, w.word(), `","quantity":`)
	w.number(1, 6)
	w.add(`,"price_cents":`)
	w.number(99, 99_999)
	w.add(`,"tags":["`, w.word(), `","`, w.word(), `"],"in_stock":`, w.pick("true", "false"),
		`,"discount":null}`)
}

func (w *writer) jsonComment() {
	w.add(`{"id":"`)
	w.uuid()
	w.add(`","author":`)
	w.jsonPerson(nameOnly)
	w.add(`,"created_at":"`)
	w.time(jsonTime, time.Minute)
	w.add(`","likes":`)
	w.number(0, 300)
	w.add(`,"text":"`)
	w.prose(8 + w.random.IntN(40))
	w.add(`."}`)
}

// Package ask parses queries that people type, into predicates, order and limit of package record.
//
//	age >= 30 and (home.city = "Ulm" or tags has "x") order by age desc limit 10
//
// # Grammar
//
// Words are written in any case. Brackets [ ] stand for what may be missing, braces { } for what
// may be repeated.
//
//	query     = [ condition ] [ "order" "by" order ] [ "limit" number ]
//	condition = both { "or" both }
//	both      = factor { "and" factor }
//	factor    = "not" factor | "(" condition ")" | test
//	test      = field compare literal
//	          | field "between" literal "and" literal
//	          | field [ "not" ] "in" "(" literal { "," literal } ")"
//	          | field [ "not" ] "starts" "with" text
//	          | field "has" literal                            of lists
//	          | field "is" [ "not" ] "null"                    of pointers
//	          | field                                          of bools
//	compare   = "=" | "==" | "!=" | "<>" | "≠" | "<" | "<=" | "≤" | ">" | ">=" | "≥"
//	order     = "key" [ way ] | field [ way ] { "," field [ way ] }
//	way       = "asc" | "desc"                                 the same for all fields
//	field     = name | "`" any name "`"
//
// The type of the field decides how a literal is read:
//
//	integers      30  -1  0xff
//	floats        1.5  2e9  inf  -inf  nan
//	strings       "Ulm"  'Ulm', with the escapes of Go
//	bools         true  false
//	times         "2026-01-31"  "2026-01-31 12:00"  "2026-01-31T12:00:00.5+02:00"  now
//	              now - 36h  now + 7d; without a zone in UTC
//	UUIDs         "6ba7b810-9dad-11d1-80b4-00c04fd430c8", or without hyphens
//	bytes         x"00ff"  "text"
//	pointers      as what they point to, or null
//
// A comparison with a pointer that is nil is false, except with null and those that exclude a
// value; not turns any test into its opposite. There is no opposite of has, because no plan finds
// what a list lacks.
//
// The package runs no queries. Its functions are safe for concurrent use.
package ask

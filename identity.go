package stoat

// Identity says which database this is, and which line of its history. Compare identities with ==:
// two states with the same identity are an earlier and a later state of one database, unless its
// directory was copied by other means than a backup.
//
// The numbers are random; they reveal nothing about the database.
type Identity struct {
	// Database is drawn when a database is created, by [Open] or [OpenMemory], and by [Salvage] for
	// what it makes. Backups, restored or not, have that of their source.
	Database [16]byte
	// Branch is drawn with Database, and again when a backup, restored or not, is opened for
	// writing. The new one lasts from the first write on: until then, each opening draws another.
	// Opening a backup with [Options.ReadOnly] draws one, too, which never lasts.
	Branch uint64
}

// Identity returns the identity of the database. It does not change while the database is open, and
// works on a closed one too.
//
// A layer that tells others what is in this database stores the identity with it. If the identity
// differs later, the database was restored from a backup or salvaged, and may lack what others were
// told. A directory that was copied or put back by other means, such as a snapshot of a virtual
// machine, keeps its identity.
func (db *DB) Identity() Identity {
	return Identity{Database: db.engine.Database(), Branch: db.engine.Branch()}
}

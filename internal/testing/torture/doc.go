// Package torture tries to make the database lose data. It holds the heavy tests of the public API;
// the tests of what single calls do are beside the API. Databases run on file systems in memory
// that crash and fail on request, with sizes so small that rare paths are common
// (internal/testing/tuned). The model in internal/testing/model says what they should hold.
//
// Random operations, which most tests use:
//
//   - plan_test.go defines actions, each one operation as data, and plans, which are lists of
//     them;
//   - generator_test.go draws actions; planner_test.go draws whole plans;
//   - store_test.go is what actions need of a store: dbstore_test.go is the database,
//     modelstore_test.go the model; perform_test.go runs a plan on either;
//   - twin_test.go does an operation on both at once and compares the outcome;
//   - dump_test.go reads a whole database; helpers_test.go has short forms for tests.
//
// Workloads, the programs that are crashed:
//
//   - workload_test.go lists them with their options and sizes; runner_test.go runs them;
//     basicworkloads_test.go, queueworkload_test.go, eventworkload_test.go, loadworkload_test.go
//     and backup_test.go hold their code;
//   - timeline_test.go keeps the states after each commit, and knows which of them a crash may
//     leave; package crash in the folder crash decides when to crash and what the disk keeps;
//   - reuse_test.go counts tables and blocks that compactions took over without rewriting them.
//
// Crashes and faults:
//
//   - crash_test.go cuts the power at the operations of all workloads;
//   - fault_test.go makes operations fail and fills the disk;
//   - swap_test.go renames or replaces the folder of an open database, and its files;
//   - backup_test.go, backupfault_test.go, backupfolder_test.go and restorefault_test.go back up
//     and restore: during histories, on disks that crash and fail, and into folders of others;
//   - watch_test.go follows changes, during random histories and a crash.
//
// Random histories:
//
//   - model_test.go compares the database with the model while snapshots stay open;
//   - parts_test.go ends compactions that are done in parts, during such histories;
//   - metamorphic_test.go performs plans under the many settings of settings_test.go, always with
//     the same result; shrink_test.go reduces a plan that fails. testdata/histories has plans that
//     every run performs.
//
// Damaged files:
//
//   - corruption_test.go damages the databases of sample_test.go in the ways of damage_test.go;
//     reading_test.go reads what is left;
//   - check_test.go and checkdamage_test.go test what a check finds; damagedopen_test.go reads
//     beside damage;
//   - salvage_test.go, salvagecases_test.go, salvagehole_test.go, salvagemanifest_test.go and
//     salvageverdict_test.go salvage damaged databases; salvageparts_test.go salvages one between
//     the parts of a compaction;
//   - fuzz_test.go and fuzz_manifest_test.go open databases with fuzzed files.
//
// Formats: compat_test.go reads the databases in testdata/compat, which earlier versions wrote;
// compatbackup_test.go restores the backups that they wrote, and backs up into them.
// compat_cases_test.go writes those of the current version.
//
// Layers: package layers does the same to the packages record and feed.
//
// How much is tried: plain go test runs a sample of everything; main_test.go has the flag
// -thorough, which tries every case where tests would sample. The flags -crash.points,
// -corrupt.every, -corrupt.bits, -histories, -meta.histories and -meta.ops set numbers, and .ci/run
// crash sets them high. A failure prints the flags that reproduce it: -crash.seed and -crash.only,
// -meta.seed, -corrupt.seed or -seed.
package torture

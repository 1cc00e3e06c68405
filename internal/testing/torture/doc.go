// Package torture tries to make the database lose data: it is the heavy tests of the public API,
// and nothing but tests. Those of what a single call does stand beside the API itself.
//
// Databases run on file systems in memory that crash and fail on request, with sizes so small that
// what is rare happens all the time; internal/testing/tuned opens them. What they should hold is
// known from internal/testing/model. Read these first, which most of the others use:
//
//   - twin_test.go does each operation on the database and on the model at once, player_test.go
//     and loading_test.go make random ones;
//   - timeline_test.go is the oracle: the states after each commit, on the timeline of the package
//     in the folder crash, which knows what was promised of them;
//   - workload_test.go has the workloads, each with options and sizes, and their runner;
//     scripts_test.go, queue_test.go, events_test.go and loading_test.go what they do; kept_test.go
//     counts what compactions did not write anew.
//
// Crashes and faults:
//
//   - crash_test.go cuts the power at the operations of all workloads; which of them, and what is
//     kept then, is up to package crash;
//   - fault_test.go lets operations fail, and fills the disk;
//   - swap_test.go renames the folder of an open database, puts another one in its place, and
//     replaces its files;
//   - watch_model_test.go follows the changes of random histories, and of one that crashes;
//   - backup_test.go, backupfault_test.go and backupfolder_test.go make backups in the midst of
//     histories, on disks that crash and fail, and in folders that hold something else.
//
// Random histories:
//
//   - model_test.go plays them beside the model, with snapshots held open;
//   - metamorphic_test.go plays them as plans (plan_test.go, which plandraw_test.go draws,
//     play_test.go performs and shrink_test.go makes smaller) on any subject (subject_test.go, and
//     the model as reference_test.go) under many settings (settings_test.go). testdata/histories
//     has plans that are played in every run.
//
// Damaged files:
//
//   - corruption_test.go opens and reads the databases of sample_test.go, damaged in the ways of
//     damage_test.go;
//   - check_test.go and checkdamage_test.go look for what a check must find, and nothing else;
//     damagedopen_test.go reads beside the damage;
//   - salvage_test.go and salvagecases_test.go salvage what is left;
//   - fuzz_test.go and fuzz_manifest_test.go open whatever the fuzzer makes of files.
//
// Layers: the package in the folder layers does to packages record and feed what is done here to
// the database itself.
//
// Formats: compat_test.go reads the databases in testdata/compat, which versions of Stoat have
// written, and compat_cases_test.go writes those of this version.
//
// A failure says which flags make the same happen again: -crash.seed and -crash.only, -meta.seed,
// -corrupt.seed, -seed. Others say how much is tried: -crash.points, -meta.histories and -meta.ops,
// -corrupt.every and -corrupt.bits, -histories.
package torture

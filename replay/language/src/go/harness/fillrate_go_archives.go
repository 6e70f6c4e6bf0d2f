// Knows what the cache holds of the project's packages, and removes it where a test must not find
// it: the original of a changed file can be linked and run from there, and the tests' own
// expectations read.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The file of an environment that lists the archives.
const archivesFile = "archives.json"

// The file in the cache that has all archives of the project removed.
const anewFile = "fillrate-anew"

// prctl(2): whether other processes may read this one's memory.
const prSetDumpable = 4

// Archive is a compiled package of the project.
type Archive struct {
	// Its path, with the tests that it is compiled for.
	Path string
	// Its folder, relative to the module's.
	Folder string
	// The packages that it needs, directly or not.
	Needs []string
	// Its file, relative to the cache.
	File string
}

// closeToTracing keeps the nonce from the tests, which have the same user.
func closeToTracing() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0)
}

// prepareArchives lists the archives of the project, and removes all others but those of packages
// from elsewhere.
func prepareArchives(environment, goProgram string) error {
	type listed struct {
		ImportPath, Dir, Export string
		Deps                    []string
		Module                  *struct {
			Main    bool
			Replace *struct{ Version string }
		}
	}
	plan, err := compileAll(environment, goProgram)
	if err != nil {
		fmt.Println("tests are always compiled by `go test`:", err)
	}
	run := &Run{goProgram: goProgram, patterns: []string{"./..."}}
	all, err := list[listed](run, "-e", "-deps", "-test", "-export", "-json=ImportPath,Dir,Export,Deps,Module")
	if err != nil {
		return err
	}
	module, err := os.Getwd()
	if err != nil {
		return err
	}
	cache := os.Getenv("GOCACHE")
	kept := map[string]bool{}
	archives := []Archive{}
	for _, one := range all {
		if one.Export == "" {
			continue
		}
		file, err := filepath.Rel(cache, one.Export)
		if err != nil {
			return err
		}
		kept[file] = true
		folder, err := filepath.Rel(module, one.Dir)
		isTest := strings.Contains(one.ImportPath, " [") || strings.HasSuffix(one.ImportPath, ".test")
		// A folder that replaces a module has no version, and its packages may need the module's.
		isOwn := one.Module != nil && (one.Module.Main || one.Module.Replace != nil && one.Module.Replace.Version == "")
		if isTest || isOwn {
			if err != nil {
				folder = "."
			}
			archives = append(archives, Archive{one.ImportPath, filepath.ToSlash(folder), one.Deps, file})
		}
	}
	if plan != nil {
		if err := plan.write(cache, kept); err != nil {
			return err
		}
	}
	err = filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isArchive(path) {
			return err
		}
		file, err := filepath.Rel(cache, path)
		if err == nil && !kept[file] {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(archives)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(environment, archivesFile), text, 0o644)
}

// isArchive says whether a file is a compiled package or a program.
func isArchive(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, 8)
	if _, err := file.Read(start); err != nil {
		return false
	}
	return string(start) == "!<arch>\n" || string(start[:4]) == "\x7fELF"
}

// removeOriginals removes the archives of the packages that a change reaches.
func (run *Run) removeOriginals(environment string) error {
	cache := os.Getenv("GOCACHE")
	plan, err := takePlan()
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(cache, anewFile))
	all := err == nil
	if !all {
		run.plan, run.lacksPlan = plan, plan == nil
	}
	if !all && len(run.Changed) == 0 {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(environment, archivesFile))
	if err != nil {
		return err
	}
	var archives []Archive
	if err := json.Unmarshal(text, &archives); err != nil {
		return fmt.Errorf("%s: %w", archivesFile, err)
	}
	reached := map[string]bool{}
	for _, one := range archives {
		reached[one.Path] = all || run.isChanged(one.Folder)
	}
	for _, one := range archives {
		remove := reached[one.Path]
		for _, needed := range one.Needs {
			remove = remove || reached[needed]
		}
		if remove {
			if err := os.Remove(filepath.Join(cache, one.File)); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// isChanged says whether a changed file may be compiled into the package in a folder: one of its
// own, or one below that it embeds.
func (run *Run) isChanged(folder string) bool {
	for _, changed := range run.Changed {
		inside := run.inModule(filepath.Dir(changed))
		embedded := !strings.HasSuffix(changed, ".go") && (folder == "." || strings.HasPrefix(inside+"/", folder+"/"))
		if inside == folder || embedded {
			return true
		}
	}
	return false
}

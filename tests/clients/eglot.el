;;; eglot.el --- Eglot accepts a completion  -*- lexical-binding: t -*-

;; emacs --quick --batch --load eglot.el PROGRAM SETTINGS FILE LINE TEXT
;;
;; Opens FILE with the server, writes TEXT at the end of LINE, takes the only completion and saves.

(require 'eglot)
(require 'python)

(pcase-let ((`(,program ,settings ,file ,line ,text) command-line-args-left)
            (until (+ (float-time) 20))
            (before nil))
  (setq command-line-args-left nil
        make-backup-files nil
        eglot-server-programs `((python-mode . (,program "serve" "--config" ,settings))))
  (find-file file)
  (python-mode)
  (apply #'eglot (eglot--guess-contact))
  (goto-char (point-min))
  (forward-line (1- (string-to-number line)))
  (end-of-line)
  (insert text)
  ;; The server may still be starting.
  (setq before (buffer-string))
  (while (and (equal before (buffer-string)) (< (float-time) until))
    (sleep-for 0.2)
    (completion-at-point))
  (save-buffer)
  (eglot-shutdown (eglot-current-server) nil 20))

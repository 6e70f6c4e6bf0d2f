--- The program `fillrate`, and its server as a client of Neovim's.

local M = {}

--- The client's name.
M.NAME = "fillrate"

--- The oldest program whose server this plugin works with.
M.OLDEST = "0.1.0"

--- Last status of a running server: the notification `fillrate/status`.
--- @class fillrate.Status
--- @field state string
--- @field text? string the state in a few words
--- @field files? integer
--- @field message? string
--- @field cause? string with a fault, what failed in a few words
--- @field advice? string with a fault, what to do about it
--- @field sinceMs? integer with a fault, since when
--- @field uri? string with a silence, the document that it is said of
--- @field model? string absent in a blind trial
--- @field trial? boolean
--- @field content? boolean whether its telemetry keeps code

--- By client.
--- @type table<integer, fillrate.Status>
M.statuses = {}

--- Settings that switch on the prose and data that `filetypes` names: without them the server offers
--- nothing there. The switches of other languages are left as the files have them.
---
--- @return table
local function listed()
  local options = require("fillrate.options")
  local languages = {}
  for _, filetype in ipairs(assert(options.current).filetypes) do
    if vim.list_contains(options.prose, filetype) then
      languages[filetype] = true
    end
  end
  return next(languages) and { languages = languages } or {}
end

--- Settings chosen since the start, in the form of `fillrate.toml`. They override all others.
--- @type table
local chosen = {}

--- The program's path.
---
--- @return string? path nothing if there is none
--- @return string? fault why
function M.program()
  local cmd = require("fillrate.options").current.cmd
  local path = vim.fn.exepath(vim.fn.expand(cmd))
  if path ~= "" then
    return path
  end
  -- A Neovim that a desktop starts seldom has cargo's folder on PATH.
  local cargo = not cmd:find("/", 1, true) and vim.fn.exepath(vim.fn.expand("~/.cargo/bin/") .. cmd)
  if cargo and cargo ~= "" then
    return cargo
  end
  if cmd:find("/", 1, true) then
    return nil, ("There is no program at %s: correct the option `cmd` of setup()."):format(cmd)
  end
  return nil,
    (
      "The program `%s` is neither on PATH nor in ~/.cargo/bin: install it (cargo install --path"
      .. " replay, in a checkout of Fillrate), or set the option `cmd` of setup() to its path."
    ):format(cmd)
end

--- Checks a program by the output of its `--version`, and describes what is wrong with it.
---
--- @param path string
--- @param said vim.SystemCompleted the result of `fillrate --version`
--- @return string? fault nothing if it will do
--- @return string version as the program says it
function M.judge(path, said)
  local version = vim.trim(said.stdout or "")
  local number = said.code == 0 and version:match("^fillrate (%d+%.%d+%.%d+)")
  if not number then
    local words = vim.trim(version .. "\n" .. (said.stderr or ""))
    return ("%s does not say that it is fillrate when asked for its --version: it says %s."):format(
      path,
      vim.inspect(words:sub(1, 80))
    ),
      version
  end
  if vim.version.lt(number, M.OLDEST) then
    return ("%s is fillrate %s, which is too old: this needs %s or newer."):format(
      path,
      number,
      M.OLDEST
    ),
      version
  end
  return nil, version
end

--- Version checks by path. Each path is checked once, and again after a fault, which may have been
--- corrected.
--- @type table<string, { waiting: fun(path: string)[], fault?: string, done?: boolean }>
local asked = {}

--- Reason why the last program looked for can't be used; nil if there is none.
--- @type string?
local problem

--- Last message that was shown shortened, in full.
--- @type string?
local shortened

--- @return string?
function M.shortened()
  return shortened
end

--- Shortens a message that Neovim itself shows to what fits in its last line, since a longer one
--- ends in "Press ENTER". Plugins that replace `vim.notify` have room for all of it.
---
--- @param message string
--- @return string
local function fitted(message)
  local source = debug.getinfo(vim.notify, "S").source
  -- Neovim's own is built in, with or without the name of its file.
  if source ~= "?" and not vim.startswith(source, "@vim/") then
    return message
  end
  -- What the command line shows already, such as a file's name, would be a first line.
  vim.cmd.redraw()
  local room = vim.v.echospace
  if vim.fn.strdisplaywidth(message) <= room and not message:find("\n", 1, true) then
    return message
  end
  shortened = message:gsub("^fillrate: ", "")
  local rest = "… See :Fillrate"
  local characters = math.max(0, room - vim.fn.strdisplaywidth(rest))
  return vim.fn.strcharpart(vim.split(message, "\n")[1], 0, characters) .. rest
end

--- Reports something to the person, once what runs is done: an error message within an autocommand
--- keeps those that come after it from running, such as syntax highlighting's.
---
--- @param message string
--- @param level? integer of `vim.log.levels`; an error if left out
--- @param whole? boolean true for the answer to a command, which may take several lines
function M.say(message, level, whole)
  vim.schedule(function()
    message = "fillrate: " .. message
    vim.notify(whole and message or fitted(message), level or vim.log.levels.ERROR)
  end)
end

--- Reports a fault again when insert mode is left: Neovim's last line loses a message to the next
--- key, so a person who typed on has not read it.
---
--- @param name string one of these is reported at a time: a fault may come and go
--- @param fault string
--- @param holds fun(): boolean whether it is still to be reported then
local function say_after_typing(name, fault, holds)
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("fillrate.fault:" .. name, { clear = true }),
    pattern = "i*:n",
    once = true,
    callback = function()
      if holds() then
        M.say(fault)
      end
    end,
  })
end

--- Message of the server that was started last, if it refused to start because of its settings.
--- @type string?
local refused

--- @return string?
function M.refusal()
  return refused
end

--- Reports once why a server does not start.
---
--- @param words string the server's
local function refuse(words)
  words = vim.trim(words):gsub("^fillrate: ", "")
  if refused ~= words then
    refused = words
    -- A message is cut at the end of the last line, so neither a sentence nor the file's folder comes
    -- before what is wrong.
    local fault = words:gsub("^/[^:]*/", "")
    M.say(fault)
    say_after_typing("settings", fault, function()
      return refused == words
    end)
    vim.cmd.redrawstatus({ bang = true })
  end
end

--- Returns the known reason why the program or its settings can't be used; nil if there is none.
--- Checks nothing, since status lines call it on every redraw.
---
--- @return string?
function M.problem()
  return problem or refused and "The settings can't be used. " .. refused
end

--- Keeps what is wrong with the program, and reports it unless it is what was reported last.
---
--- @param fault? string nothing if it will do
local function judged(fault)
  if fault and fault ~= problem then
    M.say(fault)
  end
  problem = fault
end

--- Finds the program and asks for its version. Reports a fault once.
---
--- @param use fun(path: string) called with its path, if it will do
function M.find(use)
  local path, fault = M.program()
  if not path then
    judged(fault)
    return
  end
  local asking = asked[path]
  if asking and not asking.done then
    table.insert(asking.waiting, use)
    return
  elseif asking and not asking.fault then
    judged(nil)
    use(path)
    return
  end
  asked[path] = { waiting = { use } }
  vim.system(
    { path, "--version" },
    { text = true, timeout = 10000 },
    vim.schedule_wrap(function(said)
      asking = asked[path]
      asking.fault, asking.done = M.judge(path, said), true
      judged(asking.fault)
      for _, waiting in ipairs(asking.fault and {} or asking.waiting) do
        waiting(path)
      end
    end)
  )
end

--- Prepares an answer of ours for whoever shows it.
---
--- @param buf integer
--- @param tick integer what the text's version was when it was asked for
--- @param result any
--- @return table? # nil if it is for an older text or no longer wanted
local function fresh(buf, tick, result)
  local wanted = result
    and vim.api.nvim_buf_is_loaded(buf)
    and vim.api.nvim_buf_get_changedtick(buf) == tick
    and vim.startswith(vim.api.nvim_get_mode().mode, "i")
    and require("fillrate.buffers").is_on(buf)
  if not wanted then
    return nil
  end
  for _, item in ipairs(result.items) do
    -- A file's carriage returns are no part of the buffer.
    item.insertText = item.insertText:gsub("\r\n", "\n")
  end
  return result
end

--- Starts the program, and passes messages between it and the client.
---
--- Neither an item's way from Neovim to the screen nor the accept that Neovim sends can be
--- followed otherwise.
---
--- @param command string[]
--- @param folder string
--- @param client_id fun(): integer
--- @return fun(dispatchers: vim.lsp.rpc.Dispatchers): vim.lsp.rpc.PublicClient
local function connection(command, folder, client_id)
  return function(dispatchers)
    local rpc = vim.lsp.rpc.start(command, dispatchers, { cwd = folder })
    --- @param method string
    --- @param params table
    --- @param callback fun(err?: table, result: any, id?: integer)
    local function request(method, params, callback, ...)
      if method == "textDocument/inlineCompletion" then
        local buf = vim.uri_to_bufnr(params.textDocument.uri)
        -- Neovim's own feature asks whatever our switches say.
        if not require("fillrate.buffers").is_on(buf) then
          return false
        end
        local tick = vim.api.nvim_buf_get_changedtick(buf)
        return rpc.request(method, params, function(err, result, ...)
          result = fresh(buf, tick, result)
          if result then
            require("fillrate.buffers").answered(buf, client_id(), result.items)
          end
          callback(err, result, ...)
          require("fillrate.buffers").changed(buf)
        end, ...)
      end
      if method == "initialize" then
        return rpc.request(method, params, function(err, ...)
          if err then
            -- Neovim would print a trace of its stack.
            refuse(err.message)
            rpc.terminate()
            return
          end
          callback(err, ...)
        end, ...)
      end
      local argument = params and params.arguments and params.arguments[1]
      if
        method == "workspace/executeCommand"
        and params.command == "fillrate.accept"
        and argument
      then
        params = vim.tbl_extend("force", params, {
          arguments = { require("fillrate.seen").took(argument) },
        })
      end
      return rpc.request(method, params, callback, ...)
    end
    return vim.tbl_extend("force", rpc, { request = request })
  end
end

--- Settings for the wire, where a table without entries must not become a list.
---
--- @param settings table
--- @return table
local function object(settings)
  return next(settings) == nil and vim.empty_dict() or settings
end

--- Prefix of the server's own messages of faults.
local FAULT = "Fillrate: "

--- The fault that was reported last, by client, until its model answers.
--- @type table<integer, string>
local reported = {}

--- Reports each fault once: what failed, then what to do. The words of a model's server, which may
--- be of any length, are left to `:Fillrate` and `:checkhealth`.
---
--- @param client_id integer
--- @param status fillrate.Status
local function report(client_id, status)
  if status.state == "ready" then
    reported[client_id] = nil
  end
  if status.state ~= "fault" then
    return
  end
  local cause = status.cause or "no completions can be given"
  local fault = ("%s. %s"):format(cause, status.advice or status.message or "")
  if reported[client_id] ~= fault then
    reported[client_id] = fault
    M.say(fault)
    if vim.startswith(vim.api.nvim_get_mode().mode, "i") then
      say_after_typing(tostring(client_id), fault, function()
        return reported[client_id] == fault
      end)
    end
  end
end

--- Shows a message of the server, unless its status says the same.
---
--- @param params lsp.ShowMessageParams
local function show(params)
  local is_error = params.type == vim.lsp.protocol.MessageType.Error
  if is_error and vim.startswith(params.message, FAULT) then
    return
  end
  local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }
  local message = params.message:gsub("^[Ff]illrate: ", "")
  M.say(message, levels[params.type] or vim.log.levels.INFO)
end

--- Limit on restarts of servers that stop by themselves, and its time window in milliseconds.
local RESTARTS, WITHIN = 3, 180000

--- Times at which servers stopped by themselves, in milliseconds of `vim.uv.now()`.
--- @type integer[]
local stops = {}

--- Counts a server that has just stopped by itself, and returns true if it may be restarted. One
--- that stops at once each time soon may not.
---
--- @return boolean
local function may_restart()
  local now = vim.uv.now()
  stops = vim.tbl_filter(function(at)
    return now - at < WITHIN
  end, stops)
  table.insert(stops, now)
  return #stops <= RESTARTS
end

--- Starts a server for a buffer, or attaches it to the one that its project has. If its settings
--- can't be used, a message says what is wrong with them.
---
--- @param buf integer
--- @param path string the program
--- @param on_attach fun(client: vim.lsp.Client, buf: integer)
function M.start(buf, path, on_attach)
  local options = assert(require("fillrate.options").current)
  local folder = vim.fs.root(buf, options.root_markers)
    or vim.fs.dirname(vim.api.nvim_buf_get_name(buf))
  -- A new file may be in a folder that is not there yet.
  while vim.fn.isdirectory(folder) == 0 and vim.fs.dirname(folder) ~= folder do
    folder = vim.fs.dirname(folder)
  end
  local id = 0
  local attached = {}
  local command = vim.list_extend({ path, "serve" }, options.args)
  local config = {
    name = M.NAME,
    cmd = connection(command, folder, function()
      return id
    end),
    root_dir = folder,
    init_options = object(vim.tbl_deep_extend("force", listed(), options.settings, chosen)),
    -- 0.11 does not say that it can show inline completions; we can.
    capabilities = {
      textDocument = { inlineCompletion = { dynamicRegistration = false } },
    },
    -- The server follows the person's rhythm, and what becomes of accepted text.
    flags = { debounce_text_changes = 0 },
    handlers = {
      ["fillrate/status"] = function(_, status, context)
        status = M.without_null(status)
        M.statuses[context.client_id] = status
        report(context.client_id, status)
        vim.api.nvim_exec_autocmds("User", { pattern = "FillrateStatus", modeline = false })
        vim.cmd.redrawstatus({ bang = true })
      end,
      ["window/showMessage"] = function(_, params)
        show(params)
      end,
    },
    on_init = function(client)
      id, refused = client.id, nil
      local commands = vim.tbl_get(client.server_capabilities, "executeCommandProvider", "commands")
      if not vim.list_contains(commands or {}, "fillrate.accept") then
        M.say(
          path
            .. " is too old to note what is accepted: completions are shown, but not measured."
            .. " Install a newer one.",
          vim.log.levels.WARN
        )
      end
    end,
    on_attach = function(client, own)
      attached[own] = true
      on_attach(client, own)
    end,
    on_exit = function(code, signal, client_id)
      M.statuses[client_id], reported[client_id] = nil, nil
      -- The editor's own end ends the server without an error.
      if code ~= 0 or (signal ~= 0 and signal ~= 15) then
        vim.schedule(function()
          local again = may_restart()
          M.say(
            ("The server stopped (code %d, signal %d)%s"):format(
              code,
              signal,
              again and ", and is started again." or ": see :checkhealth fillrate."
            )
          )
          for own in pairs(again and attached or {}) do
            if vim.api.nvim_buf_is_loaded(own) then
              M.start(own, path, on_attach)
            end
          end
        end)
      end
    end,
  }
  local runs = vim.iter(M.clients()):any(function(client)
    return client.root_dir == folder
  end)
  if runs then
    vim.lsp.start(config, { bufnr = buf })
    return
  end
  -- A client would only learn that the server ended. Without input it ends at once if it serves.
  vim.system(
    command,
    { text = true, stdin = "", cwd = folder, timeout = 10000 },
    vim.schedule_wrap(function(said)
      local words = vim.trim(said.stderr or "")
      if said.code == 1 and words ~= "" then
        refuse(words:match("[^\n]*$"))
      elseif vim.api.nvim_buf_is_loaded(buf) then
        vim.lsp.start(config, { bufnr = buf })
      end
    end)
  )
end

--- The servers that run.
---
--- @param buf? integer those of this buffer only
--- @return vim.lsp.Client[]
function M.clients(buf)
  return vim.lsp.get_clients({ name = M.NAME, bufnr = buf })
end

--- The server of the current buffer, or else any; without one, notifies the person.
---
--- @return vim.lsp.Client?
function M.client()
  local client = M.clients(vim.api.nvim_get_current_buf())[1] or M.clients()[1]
  if not client then
    M.say("No server runs: open a file of its types, or see :checkhealth fillrate.")
  end
  return client
end

--- Without the `null`s of the wire, which Lua takes for true.
---
--- @param value any
--- @return any
function M.without_null(value)
  if value == vim.NIL then
    return nil
  end
  if type(value) == "table" and not vim.islist(value) then
    local kept = {}
    for key, member in pairs(value) do
      kept[key] = M.without_null(member)
    end
    return kept
  end
  return type(value) == "table" and vim.tbl_map(M.without_null, value) or value
end

--- Asks the server something of our own.
---
--- @param client vim.lsp.Client
--- @param method string
--- @param params table
--- @param use fun(result: any) called with the result; an error is shown to the person
function M.ask(client, method, params, use)
  --- @diagnostic disable-next-line: param-type-mismatch the method is the server's own
  client:request(method, object(params), function(err, result)
    if err then
      M.say(err.message)
    else
      use(M.without_null(result))
    end
  end)
end

--- Available models, trial and telemetry: the result of `fillrate/models`.
--- @class fillrate.Models
--- @field models { name: string, about: string, active: boolean }[]
--- @field trial? { models: string[], unit: string, blind: boolean, seed: integer }
--- @field telemetry { enabled: boolean, content: boolean, path: string, sendsTo?: string }

--- Returns the available models. Waits up to a second for the server.
---
--- @param client vim.lsp.Client
--- @return fillrate.Models? # nil if it does not answer
function M.models(client)
  --- @diagnostic disable-next-line: param-type-mismatch the method is the server's own
  local answer = client:request_sync("fillrate/models", vim.empty_dict(), 1000)
  return M.without_null(answer and answer.result)
end

--- The names of the models, for completion of arguments.
---
--- @return string[]
function M.model_names()
  local client = M.clients(vim.api.nvim_get_current_buf())[1] or M.clients()[1]
  local models = client and M.models(client)
  return vim.tbl_map(function(model)
    return model.name
  end, models and models.models or {})
end

--- Language that the settings have off, if the server said so last of a buffer.
---
--- @param buf integer
--- @return string? language nil if it is on, or nothing was requested yet
function M.language_off(buf)
  local client = M.clients(buf)[1]
  local status = client and M.statuses[client.id]
  if not status or status.uri ~= vim.uri_from_bufnr(buf) then
    return nil
  end
  return (status.message or ""):match("^completions are switched off for the language `([^`]+)`")
end

--- Lays settings over all others, in every server, in place of those that were chosen before.
---
--- @param settings table
function M.choose(settings)
  chosen = settings
  for _, client in ipairs(M.clients()) do
    client:notify("workspace/didChangeConfiguration", { settings = { fillrate = object(chosen) } })
  end
end

--- Returns a copy of the settings chosen since the start.
---
--- @return table
function M.chosen()
  return vim.deepcopy(chosen)
end

--- Runs the program, for figures that have one source only.
---
--- @param arguments string[]
--- @param columns integer how wide its tables may be
--- @param use fun(output: string) called with what it printed; a fault is shown to the person
function M.run(arguments, columns, use)
  M.find(function(path)
    vim.system(
      vim.list_extend({ path }, arguments),
      { text = true, timeout = 60000, env = { COLUMNS = tostring(columns) } },
      vim.schedule_wrap(function(said)
        if said.code == 0 then
          use(said.stdout)
        else
          local words = vim.trim(said.stderr)
          M.say(words ~= "" and words or ("%s ended with %d."):format(path, said.code))
        end
      end)
    )
  end)
end

return M

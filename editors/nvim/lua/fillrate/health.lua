--- `:checkhealth fillrate`.

local M = {}

local health = vim.health

local function check_neovim()
  health.start("Neovim")
  if vim.fn.has("nvim-0.11") == 0 then
    health.error("This is older than 0.11.", { "Install Neovim 0.11 or newer." })
    return
  end
  health.ok("Version " .. tostring(vim.version()))
  local options = require("fillrate.options").current
  if not options then
    return
  end
  local _, core = require("fillrate.buffers").display()
  if core then
    health.ok("Ghost text is shown by Neovim's own vim.lsp.inline_completion.")
  elseif options.core then
    health.info("Ghost text is shown by this plugin: Neovim has its own from 0.12 on.")
  else
    health.ok("Ghost text is shown by this plugin.")
  end
end

--- @return boolean # whether it will do
local function check_program()
  local server = require("fillrate.server")
  health.start("The program fillrate")
  local path, fault = server.program()
  if not path then
    health.error(assert(fault))
    return false
  end
  local started, said = pcall(function()
    return vim.system({ path, "--version" }, { text = true, timeout = 10000 }):wait()
  end)
  if not started then
    health.error(("%s does not start: %s"):format(path, said))
    return false
  end
  local wrong, version = server.judge(path, said)
  if wrong then
    health.error(wrong)
    return false
  end
  health.ok(("%s is %s."):format(path, version))
  return true
end

--- Settings files of a server: those of `--config`, else the person's and the folder's.
---
--- @param client vim.lsp.Client
--- @return string[]
local function settings_files(client)
  local args = assert(require("fillrate.options").current).args
  for number, argument in ipairs(args) do
    local path = argument:match("^%-%-config=(.*)$")
    if path or argument == "--config" then
      return { path or args[number + 1] }
    end
  end
  local named = vim.env.XDG_CONFIG_HOME or ""
  local config = vim.startswith(named, "/") and named or vim.fs.normalize("~/.config")
  return vim.tbl_filter(function(path)
    return vim.uv.fs_stat(path) ~= nil
  end, { config .. "/fillrate/fillrate.toml", (client.root_dir or "") .. "/fillrate.toml" })
end

--- @param client vim.lsp.Client
local function check_server(client)
  local server = require("fillrate.server")
  health.start("The server of " .. (client.root_dir or "no folder"))
  local status = server.statuses[client.id]
  if not status then
    health.warn("It has not said what it is at.")
  elseif status.state == "fault" then
    health.error(
      status.message or "It says that something is wrong.",
      status.advice and { status.advice }
    )
  else
    local count = status.files == 1 and "1 file" or ("%s files"):format(status.files)
    local files = status.files and (", %s indexed"):format(count) or ""
    health.ok(("It is %s%s."):format(status.state, files))
  end
  if status and status.state == "silent" and status.message then
    health.info("The last request showed nothing: " .. status.message)
  end
  local files = settings_files(client)
  health.info(
    #files > 0 and "Settings: " .. table.concat(files, ", then over it ")
      or "Settings: there is no fillrate.toml, so the embedded model answers, which is a baseline."
  )
  local models = server.models(client)
  if not models then
    health.error("It can't say which models there are.", { "Install a newer `fillrate`." })
    return
  end
  for _, model in ipairs(models.models) do
    health.info(
      ("Model %s: %s%s"):format(model.name, model.about, model.active and " (selected)" or "")
    )
  end
  if models.trial then
    health.info(
      ("A trial of %s runs%s."):format(
        table.concat(models.trial.models, ", "),
        models.trial.blind and ", blind" or ""
      )
    )
  end
  local telemetry = models.telemetry
  local sent = telemetry.sendsTo
      and ("Latencies and outcomes are sent to %s."):format(telemetry.sendsTo)
    or "Nothing is sent."
  if not telemetry.enabled then
    health.info("Nothing is noted: telemetry.enabled is false.")
  elseif telemetry.content then
    health.warn(
      ("What becomes of completions is noted in %s, with their code. %s"):format(
        telemetry.path,
        sent
      ),
      { "Set telemetry.content to false to keep no code." }
    )
  else
    health.ok(
      ("What becomes of completions is noted in %s, without code. %s"):format(telemetry.path, sent)
    )
  end
end

local function check_keys()
  health.start("Keys")
  for name, lhs in vim.spairs(assert(require("fillrate.options").current).keys) do
    if not lhs then
      health.info(("%s has no key."):format(name))
    else
      local mapping = vim.fn.maparg(lhs, "i", false, true)
      local other = next(mapping) and (mapping.desc or mapping.rhs or "a function")
      health.ok(
        ("%s takes %s while there is ghost text%s"):format(
          lhs,
          name,
          other and (", and otherwise does what it is mapped to: %s."):format(other) or "."
        )
      )
    end
  end
end

--- Runs all checks.
function M.check()
  check_neovim()
  if not require("fillrate.options").current then
    health.start("Set-up")
    health.error("It was not set up.", { 'Call require("fillrate").setup().' })
    return
  end
  if not check_program() then
    return
  end
  local clients = require("fillrate.server").clients()
  if #clients == 0 then
    health.start("The server")
    local refusal = require("fillrate.server").refusal()
    if refusal then
      health.error(
        "Its settings can't be used: " .. refusal,
        { "Correct them, then open a file again with :edit." }
      )
      return
    end
    health.info("None runs: open a file of a type among the option `filetypes`.")
  end
  for _, client in ipairs(clients) do
    check_server(client)
  end
  check_keys()
end

return M

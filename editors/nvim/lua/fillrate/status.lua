--- The server's status in a few words: its own, which are the same in every editor.

local M = {}

--- @param buf integer
--- @param status? fillrate.Status
--- @return string
local function words(buf, status)
  local off = require("fillrate.buffers").why_off(buf)
  if off then
    return off
  end
  if not status then
    return "starting"
  end
  -- What was said of another buffer, such as a secret file, is not true of this one.
  if status.state == "silent" and status.uri ~= vim.uri_from_bufnr(buf) then
    if status.model then
      return status.model .. (status.trial and " (trial)" or "")
    end
    return status.trial and "blind trial" or "ready"
  end
  return status.text or status.state
end

--- @param buf integer
--- @return string # empty in a buffer that is no file's
function M.text(buf)
  local server = require("fillrate.server")
  local client = server.clients(buf)[1]
  if not client then
    local problem = require("fillrate.buffers").problem(buf)
    return problem and "fillrate: " .. problem or ""
  end
  local status = server.statuses[client.id]
  local text = "fillrate: " .. words(buf, status)
  return status and status.content and text .. " [keeps code]" or text
end

--- Returns the reason why nothing is shown, or a fault with its start and advice; nil if none.
---
--- @param buf integer
--- @return string?
function M.message(buf)
  local server = require("fillrate.server")
  local client = server.clients(buf)[1]
  local status = client and server.statuses[client.id]
  if not status or (status.uri and status.uri ~= vim.uri_from_bufnr(buf)) then
    return nil
  end
  local message = status.message
  if message and status.sinceMs then
    message = ("%s (since %s)"):format(message, os.date("%H:%M:%S", status.sinceMs / 1000))
  end
  if message and status.advice then
    message = message .. ". " .. status.advice
  end
  return message
end

return M

--- The server's status in a few words.

local M = {}

--- @param status? fillrate.Status
--- @return string
local function words(status)
  if not require("fillrate.buffers").is_on() then
    return "off"
  end
  if not status then
    return "starting"
  end
  if status.state == "indexing" or status.state == "starting" or status.state == "error" then
    return status.state
  end
  -- In a blind trial the server does not name the model.
  local name = status.trial and not status.model and "blind trial" or status.model or "ready"
  if status.trial and status.model then
    name = name .. " (trial)"
  end
  return status.state == "busy" and name .. " …" or name
end

--- @param buf integer
--- @return string # empty in a buffer without a server
function M.text(buf)
  local server = require("fillrate.server")
  local client = server.clients(buf)[1]
  if not client then
    return ""
  end
  local status = server.statuses[client.id]
  local text = "fillrate: " .. words(status)
  return status and status.content and text .. " [keeps code]" or text
end

--- Why nothing is shown, or what went wrong.
---
--- @param buf integer
--- @return string?
function M.message(buf)
  local server = require("fillrate.server")
  local client = server.clients(buf)[1]
  local status = client and server.statuses[client.id]
  return status and status.message
end

return M

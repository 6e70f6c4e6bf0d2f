--- A component for lualine.nvim: `lualine_x = { "fillrate" }`.

local Component = require("lualine.component"):extend()

function Component.update_status()
  return require("fillrate").statusline()
end

return Component

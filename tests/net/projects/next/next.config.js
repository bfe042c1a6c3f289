module.exports = require('./pfnm-frameworks').withPfnm({ devIndicators: false })

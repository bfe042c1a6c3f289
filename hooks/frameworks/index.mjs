import helpers from './index.cjs'

export const { findInstall, withPfnm, pfnm } = helpers

import { pfnm } from './pfnm-frameworks/index.mjs'

export default { plugins: [pfnm()] }

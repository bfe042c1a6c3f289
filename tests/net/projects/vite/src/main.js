import '@fontsource/vt323/400.css'
import ms from 'ms'

document.body.textContent = `two days are ${ms('2d')} ms`

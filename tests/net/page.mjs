// page.mjs URL TEXT FONTS [SECONDS]: what a browser would load of a page. The page answers 200 and contains TEXT; so do
// its scripts, its stylesheets (Vite's development server has them as imports of the page's module) and the fonts that
// they name, and a font's bytes are those of a file of that ending in the directory FONTS. Waits SECONDS for the server.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const [url, text, fonts, seconds = '120'] = process.argv.slice(2)
const deadline = Date.now() + Number(seconds) * 1000
let problems = 0

function problem(what) {
  console.log(what)
  problems++
}

function get(address) {
  return fetch(address, { signal: AbortSignal.timeout(Math.max(1, deadline - Date.now())) })
}

// The server is asked until it listens; an answer is an answer.
async function first() {
  for (;;) {
    try {
      return await get(url)
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}

async function part(kind, address) {
  const answer = await get(address)
  const body = Buffer.from(await answer.arrayBuffer())
  if (answer.status === 200) console.log(`${kind} 200 ${address}`)
  else problem(`${kind} ${answer.status} ${address}: ${body.toString().replace(/\s+/g, ' ').slice(0, 300)}`)
  return answer.status === 200 ? body : Buffer.alloc(0)
}

function all(expression, string) {
  return new Set([...string.matchAll(expression)].map((match) => match[1].replaceAll('&amp;', '&')))
}

const answer = await first()
const html = await answer.text()
if (answer.status !== 200) problem(`page ${answer.status}: ${html.replace(/\s+/g, ' ').slice(0, 1000)}`)
if (!html.includes(text)) problem(`page without ${JSON.stringify(text)}: ${html.slice(0, 1000)}`)

const sheets = new Set([...all(/<link[^>]*href="([^"]+\.css[^"]*)"/g, html)].map((href) => new URL(href, url).href))
for (const source of all(/<script[^>]*src="([^"]+)"/g, html)) {
  const script = (await part('script', new URL(source, url))).toString()
  for (const imported of all(/^(?:.*;)?\s*import\s[^;]*?"(\/[^"]+)"/gm, script)) {
    if (imported.endsWith('.css')) sheets.add(new URL(imported, url).href)
    else await part('import', new URL(imported, url))
  }
}

const known = readdirSync(fonts).map((name) => readFileSync(join(fonts, name)))
const named = new Set()
for (const sheet of sheets) {
  const style = (await part('style', sheet)).toString()
  for (const font of all(/url\("?([^)"]+\.woff2?)"?\)/g, style)) named.add(new URL(font, sheet).href)
}
for (const font of named) {
  const bytes = await part('font', font)
  if (bytes.length > 0 && !known.some((file) => file.equals(bytes))) problem(`font with other bytes: ${font}`)
}
if (answer.status === 200 && named.size === 0) problem('no font')
process.exitCode = problems > 0 ? 1 : 0

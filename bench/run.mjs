// One script a question: `npm run bench -- file`.
import { existsSync, readdirSync } from 'node:fs'

const [name] = process.argv.slice(2)
const file = new URL(`${name}.mjs`, import.meta.url)
if (name === undefined || name === 'run' || !existsSync(file)) {
  const names = readdirSync(new URL('.', import.meta.url))
    .filter((each) => each.endsWith('.mjs') && each !== 'run.mjs')
    .map((each) => each.slice(0, -4))
  console.error(`which one? ${names.join(', ')}`)
  process.exit(64)
}
await import(file)

// One script a question: `npm run bench -- file`.
import { readdirSync } from 'node:fs'

const [name] = process.argv.slice(2)
// Parts of a benchmark are processes.
const names = readdirSync(new URL('.', import.meta.url))
  .filter((each) => each.endsWith('.mjs') && each !== 'run.mjs' && !each.endsWith('-process.mjs'))
  .map((each) => each.slice(0, -4))
if (!names.includes(name)) {
  console.error(`which one? ${names.join(', ')}`)
  process.exit(64)
}
await import(new URL(`${name}.mjs`, import.meta.url))

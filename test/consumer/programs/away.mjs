import { open } from 'baton-lock'

/** How a store that is away, or not installed, is refused. */
for (const url of process.argv.slice(2))
  await open(url, { whenUnavailable: 'fail' }).catch(({ name, message }) => console.log(`${name}: ${message}`))

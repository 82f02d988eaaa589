const { open } = require('baton-lock')

async function main() {
  const baton = await open(process.argv[2] ?? 'memory:')
  const results = await Promise.all([1, 2].map((each) => baton.once('report', () => `written by ${each}`)))
  console.log(results.map(({ status, result }) => `${status}: ${result}`).join(', '))
  await baton.close()
}

main()

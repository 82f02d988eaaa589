const { connect, RefusedError } = require('@baton-lock/client')

async function main() {
  const baton = await connect(process.argv[2])
  const { status, result } = await baton.once('report', () => 'written', { keepMs: 60_000 })
  const lock = await baton.acquire('lock', 'accounts')
  const refused = await baton.lock('accounts', () => {}, { queueing: false }).catch((error) => error)
  console.log(status, result, refused instanceof RefusedError && refused.code)
  await lock.succeed()
  await baton.close()
}

main()

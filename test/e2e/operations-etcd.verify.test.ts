// needs: openssl, etcd, etcdctl
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { urlOf } from '@baton-lock/test-support/baton-server'
import { newAuthority, newCertificate } from '@baton-lock/test-support/certificates'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../docs/page.ts'
import { baton, killRest, logIn, type Running, start, startProgram, until } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/*
 * docs/operations.md, 'Three servers on etcd': the files and commands as they stand there, on addresses of the loopback in place of those of
 * the page, and in a folder of the test's own.
 */

const page = readPage('docs/operations.md')
const under = (heading: string, language: string) =>
  page.blocks.filter((block) => block.heading === heading && block.language === language).map(({ text }) => text)
const [member, server, tls] = under('Setting it up', 'ini')
const [user, look, use] = under('Setting it up', 'sh')
const [save, restore, raise] = under('Backup and restore of etcd', 'sh')
const [mend] = under('Sizing of etcd', 'sh')
const tlsUrl = page.spans.find((span) => span.includes('?ca='))!

const ALL = [1, 2, 3]
const OWN_ADDRESS =
  /((?:ETCD_LISTEN|ETCD_ADVERTISE|ETCD_INITIAL_ADVERTISE)\S+?=https?:\/\/|--initial-advertise-peer-urls https?:\/\/|BATON_HOST=)10\.0\.0\.1(?!\d)/g
const network = () => `127.${100 + Math.floor(Math.random() * 150)}.${Math.floor(Math.random() * 250)}`

/** Three machines, as the page has them. */
class Machines {
  readonly shell = new PageShell({ BATON_NODE: 'node-a' }, { 'deploy.sh': 'echo "fence $BATON_FENCE" >> deploy.log' })
  readonly #network = network()
  readonly #members = new Map<number, Running>()
  readonly #servers = new Map<number, Running>()

  constructor() {
    for (const folder of ['etcd', 'backups', 'tls']) mkdirSync(this.shell.path(folder))
  }

  /** A text of the page, for one of the machines: where it is about the first one itself, with the name and address of this one. */
  here(text: string, machine = 1): string {
    return text
      .replaceAll(/(ETCD_NAME=|--name )m1/g, `$1m${machine}`)
      .replaceAll(OWN_ADDRESS, `$110.0.0.${machine}`)
      .replaceAll('10.0.0.', `${this.#network}.`)
      .replaceAll('/var/lib/etcd/baton', this.shell.path(`etcd/m${machine}`))
      .replaceAll('/var/backups', this.shell.path('backups'))
      .replaceAll(/\/etc\/(etcd|baton)(?=\/[\w-]+\.(pem|key))/g, this.shell.path('tls'))
  }

  address(machine: number): string {
    return `${this.#network}.${machine}`
  }

  startMembers(machines: readonly number[], file: string, more: NodeJS.ProcessEnv = {}): void {
    const tied = existsSync('/usr/bin/setpriv') ? ['setpriv', '--pdeathsig', 'KILL', 'etcd'] : ['etcd']
    for (const machine of machines) {
      const env = { ...environmentOf(this.here(file, machine)), ...more }
      this.#members.set(machine, startProgram(tied[0]!, tied.slice(1), { env }))
    }
  }

  async stopMembers(machines: readonly number[], signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await stop(this.#members, machines, signal)
  }

  async startServers(machines: readonly number[], file: string): Promise<void> {
    for (const machine of machines)
      this.#servers.set(machine, start(['serve'], environmentOf(this.here(file, machine))))
    for (const machine of machines) {
      const running = this.#servers.get(machine)!
      if ((await urlOf(running)) !== `http://${this.address(machine)}:8086`) throw new Error(running.stdout())
    }
  }

  async stopServers(machines: readonly number[], signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await stop(this.#servers, machines, signal)
  }

  log(machine: number) {
    return logIn(this.#servers.get(machine)!.stderr())
  }

  /** Runs a text of the page, which has to go well. */
  async run(text: string, machine = 1): Promise<string> {
    const { code, stdout, stderr } = await this.shell.start(this.here(text, machine)).ended
    expect({ text, code, stderr: code === 0 ? '' : stderr }).toEqual({ text, code: 0, stderr: '' })
    return stdout
  }

  async untilHealthy(machines: readonly number[]): Promise<void> {
    for (const machine of machines)
      await until(`member ${machine} takes part`, () =>
        fetch(`http://${this.address(machine)}:2379/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
  }

  async ask(machine: number, resource: string): Promise<{ readonly status: number; readonly text: string }> {
    const body = JSON.stringify({ operation: 'lock', resource, node: 'node-b', queueing: false })
    const response = await fetch(`http://${this.address(machine)}:8086/v1/acquire`, { method: 'POST', body })
    return { status: response.status, text: await response.text() }
  }
}

async function stop(all: Map<number, Running>, machines: readonly number[], signal: NodeJS.Signals): Promise<void> {
  for (const machine of machines) all.get(machine)?.kill(signal)
  for (const machine of machines) await all.get(machine)?.ended
}

function environmentOf(file: string): Record<string, string> {
  const lines = file.split('\n').filter((line) => line !== '')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

describe('three servers over three members', () => {
  let machines: Machines
  beforeAll(() => {
    machines = new Machines()
  })
  afterAll(() => {
    killRest()
    machines.shell.remove()
  })

  test('there are the files and commands that are run here', () => {
    const all = [member, server, tls, user, look, use, save, restore, raise, mend, tlsUrl]
    expect(all.every((text) => text !== undefined)).toBe(true)
    const named = ['Setting it up', 'Backup and restore of etcd', 'Sizing of etcd'].map((heading) => [
      under(heading, 'ini').length,
      under(heading, 'sh').length,
    ])
    expect(named).toEqual([
      [3, 3],
      [0, 3],
      [0, 1],
    ])
  })

  test('they are set up as the page says, and clients use them', async () => {
    machines.startMembers(ALL, member!)
    await machines.untilHealthy(ALL)
    await machines.run(user!)
    const [command, ...said] = look!.trimEnd().split('\n')
    const found = (await machines.run(command!)).trimEnd().split('\n')
    expect(found.map(unled)).toEqual(said.map((line) => unled(machines.here(line.slice(2)))))
    expect(found.filter((line) => line.includes(', the leader,'))).toHaveLength(1)
    await machines.startServers(ALL, server!)
    await until('all have said so', () => ALL.every((machine) => machines.log(machine).length > 0))
    expect(new Set(ALL.map((machine) => machines.log(machine)[0]!.storeId)).size).toBe(1)
    await machines.run(use!)
    expect(machines.shell.read('deploy.log')).toMatch(/^fence \d+\n$/)
  }, 60_000)

  test('a server that dies is left for the next one, and what is held and waited for stays', async () => {
    const holds = machines.shell.start(machines.here(use!).replace('./deploy.sh', "sh -c 'echo holds; read _ < go'"))
    await machines.run('mkfifo go')
    await until('it holds', () => holds.stdout() === 'holds\n')
    const waits = machines.shell.start(machines.here(use!))
    await until('it waits', () => waits.stderr().includes('waiting, next in line'))
    await machines.stopServers([1], 'SIGKILL')
    await until('it has left', () => [holds, waits].every((each) => each.stderr().includes('leaving http')))
    await machines.run('echo > go')
    expect([(await holds.ended).code, (await waits.ended).code]).toEqual([0, 0])
    await machines.startServers([1], server!)
  }, 60_000)

  test('without a majority everything is refused within ten seconds, and goes on when it is back', async () => {
    await machines.stopMembers([1, 2], 'SIGKILL')
    const beganMs = performance.now()
    const answers = await Promise.all(ALL.map((machine) => machines.ask(machine, 'no-majority')))
    expect(performance.now() - beganMs).toBeLessThan(10_000)
    const sentence = 'The store cannot be reached or cannot write; nothing was changed. Try again.'
    expect(page.text).toContain(`*${sentence}*`)
    for (const { status, text } of answers) {
      expect(status).toBe(503)
      // One that had been sent may have been made.
      expect(['store-unavailable', 'unknown-outcome']).toContain(JSON.parse(text).code)
    }
    await until('it says so', async () => (await machines.ask(3, 'no-majority')).text.includes(sentence))
    const isReady = async () => (await fetch(`http://${machines.address(3)}:8086/readyz`)).status
    expect(await isReady()).toBe(503)
    const metrics = await (await fetch(`http://${machines.address(3)}:8086/metrics`)).text()
    expect(metrics).toMatch(/^baton_store_up 0$/m)
    expect(machines.log(3).at(-1)).toMatchObject({ message: 'the store does not answer' })
    expect((await baton(['store', 'check', storeAt(machines)])).code).toBe(69)
    machines.startMembers([1, 2], member!)
    await until('it goes on', async () => (await machines.ask(3, 'majority')).status === 200)
    await until('it says so', () => machines.log(3).some(({ message }) => message === 'the store answers again'))
    expect(await isReady()).toBe(200)
  }, 90_000)

  test('members have the metrics that the page names', async () => {
    await machines.untilHealthy(ALL)
    const section = page.text.split('\n### What to watch\n')[1]!.split('\n### ')[0]!
    const named = new Set(section.match(/\betcd_[a-z_]+/g))
    expect(named.size).toBeGreaterThan(8)
    const metrics = await (await fetch(`http://${machines.address(1)}:2379/metrics`)).text()
    // A member tells of the ways to its peers after half a minute only.
    named.delete('etcd_network_peer_round_trip_time_seconds')
    expect([...named].filter((name) => !metrics.includes(`\n# TYPE ${name} `))).toEqual([])
  })

  test('a snapshot is saved while they run, and they go on from it with higher fences', async () => {
    await machines.run(save!)
    await machines.run(use!)
    const fences = () => machines.shell.read('deploy.log').match(/\d+/g)!.map(Number)
    const before = fences().at(-1)!
    await machines.stopServers(ALL)
    await machines.stopMembers(ALL)
    for (const machine of ALL) {
      renameSync(machines.shell.path(`etcd/m${machine}`), machines.shell.path(`etcd/old${machine}`))
      await machines.run(restore!, machine)
    }
    machines.startMembers(ALL, member!, { ETCD_INITIAL_CLUSTER_TOKEN: 'baton-2' })
    await machines.untilHealthy(ALL)
    expect(await machines.run(raise!)).toContain('fences go on above')
    await machines.startServers(ALL, server!)
    await machines.run(use!)
    expect(fences().at(-1)).toBeGreaterThan(before + 2 ** 39)
  }, 90_000)

  test('one that is full grants nothing, and does again once it is compacted, defragmented and disarmed', async () => {
    await machines.stopMembers(ALL)
    machines.startMembers(ALL, member!, {
      ETCD_INITIAL_CLUSTER_TOKEN: 'baton-2',
      ETCD_QUOTA_BACKEND_BYTES: String(3 * 1024 * 1024),
    })
    await machines.untilHealthy(ALL)
    const put = `ETCDCTL_API=3 ETCDCTL_USER=root:change-me ETCDCTL_ENDPOINTS=http://10.0.0.1:2379 etcdctl put junk < junk`
    writeFileSync(machines.shell.path('junk'), 'x'.repeat(1_000_000))
    let puts = 0
    while (puts++ < 20 && (await machines.shell.start(machines.here(put)).ended).code === 0);
    const checked = await baton(['store', 'check', storeAt(machines)])
    expect([checked.code, checked.stdout + checked.stderr]).toEqual([
      1,
      expect.stringContaining('the alarm NOSPACE is raised'),
    ])
    expect(checked.stdout + checked.stderr).toMatch(/% of its quota of 3 MiB$/m)
    expect(await machines.ask(1, 'full')).toMatchObject({
      status: 503,
      text: expect.stringContaining('store-unavailable'),
    })
    const reasons = machines.log(1).map(({ reason }) => String(reason))
    expect(reasons.at(-1)).toMatch(/^etcd is full \(NOSPACE\), /)
    await machines.run(mend!)
    await until('it goes on', async () => (await machines.ask(1, 'not-full')).status === 200)
  }, 90_000)
})

describe('with TLS', () => {
  let machines: Machines
  beforeAll(() => {
    machines = new Machines()
  })
  afterEach(() => killRest())
  afterAll(() => machines.shell.remove())

  test('members and servers show one another certificates', async () => {
    const ca = newAuthority()
    // The last one is where they come from.
    const names = [...ALL.map((machine) => machines.address(machine)), '127.0.0.1']
      .map((each) => `IP:${each}`)
      .join(',')
    const [of, client] = [newCertificate({ for: names, by: ca }), newCertificate({ by: ca })]
    const files = {
      'ca.pem': ca.cert,
      'member.pem': of.cert,
      'member.key': of.key,
      'etcd-ca.pem': ca.cert,
      'etcd.pem': client.cert,
      'etcd.key': client.key,
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(machines.shell.path(`tls/${name}`), text)
    machines.startMembers(ALL, `${member!.replaceAll('http://', 'https://')}${tls}`)
    const check = () => baton(['store', 'check', machines.here(tlsUrl)])
    await until(
      'all answer',
      async () => (await check()).stdout.split('\n').filter((line) => /: etcd \d/.test(line)).length === 3,
    )
    expect((await baton(['store', 'check', storeAt(machines)])).code).toBe(69)
  }, 60_000)
})

function storeAt(machines: Machines): string {
  return `etcd://baton:secret@${ALL.map((machine) => `${machines.address(machine)}:2379`).join(',')}`
}

/** Which of them leads is for etcd to say, and which version it is. */
function unled(line: string): string {
  return line.replace(', the leader', '').replace(/etcd \d[\d.]*/, 'etcd')
}

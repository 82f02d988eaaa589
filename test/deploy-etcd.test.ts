// needs: etcd
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { urlOf } from '@baton-lock/test-support/baton-server'
import { readTokensFile } from 'baton-lock/cli/config/file'
import { serveConfig } from 'baton-lock/cli/config/serve-config'
import { validate } from 'dockerfile-utils'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Environment, pathTo, read, readDockerfile, readNamedObjects, readYaml, root } from './deploy/files.ts'
import { baton, killRest, openFolder, start, startProgram, until } from './e2e/cli-process.ts'

/*
 * What deploy/ has of three servers over etcd. There is no engine and no cluster here: members and servers are started as processes, with the
 * environment that the files give them, and with addresses of the loopback in place of names.
 */

const compose = readYaml('compose-etcd.yaml')
const objects = readNamedObjects('kubernetes-etcd.yaml')
const image = readDockerfile()
const etcdImage = readDockerfile('etcd.Dockerfile')
const DATA = '/var/lib/baton-etcd'
const COUNT = 3

/** A server as a file has it: all of them have the same environment. */
const configOf = ({ BATON_TOKENS, ...env }: Environment) =>
  serveConfig({
    flags: {},
    env: { ...env, BATON_TOKENS: BATON_TOKENS === undefined ? '' : pathTo('tokens.example.toml') },
    warn: (sentence) => expect.fail(sentence),
  })

const folder = openFolder()
afterEach(() => killRest())
afterAll(() => folder.remove())

/** Starts members and one server as they are described, and looks whether that server is ready. */
async function runs(name: string, members: readonly Environment[], server: Environment): Promise<void> {
  const network = `127.${100 + Math.floor(Math.random() * 150)}.${Math.floor(Math.random() * 250)}`
  const names = members.map(({ ETCD_ADVERTISE_CLIENT_URLS }) => new URL(ETCD_ADVERTISE_CLIENT_URLS!).hostname)
  const here = (text: string) =>
    names.reduce((all, each, index) => all.replaceAll(`${each}:`, `${network}.${index + 1}:`), text)
  for (const [index, environment] of members.entries()) {
    const data = folder.path(`${name}-${index}`)
    mkdirSync(data, { mode: 0o700 })
    const env = Object.fromEntries(
      Object.entries(environment).map(([key, value]) => {
        return [
          key,
          here(value)
            .replace('0.0.0.0', `${network}.${index + 1}`)
            .replace(DATA, data),
        ]
      }),
    )
    const tied = existsSync('/usr/bin/setpriv') ? ['setpriv', '--pdeathsig', 'KILL', 'etcd'] : ['etcd']
    startProgram(tied[0]!, tied.slice(1), { env })
  }
  const store = here(server.BATON_STORE!)
  const areThere = async () => (await baton(['store', 'check', store])).stdout.match(/: etcd \d/g)?.length === COUNT
  await until('all members take part', areThere)
  const { BATON_TOKENS: _, ...others } = server
  const running = start(['serve', '--port', '0'], { ...others, BATON_HOST: '127.0.0.1', BATON_STORE: store })
  const url = await urlOf(running)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
}

test('nothing is wrong with the image of etcd, which is not root and keeps its data on a volume', () => {
  expect(validate(read('etcd.Dockerfile'))).toEqual([])
  expect(etcdImage.argumentsOf('USER')).toEqual(['1000:1000'])
  expect(etcdImage.argumentsOf('VOLUME')).toEqual([DATA])
  expect(etcdImage.entrypoint).toEqual(['etcd'])
  expect(etcdImage.copied).toEqual([])
})

describe('compose', () => {
  const named = (pattern: RegExp) => Object.keys(compose.services).filter((name) => pattern.test(name))
  const [members, servers] = [named(/^etcd-\d$/), named(/^baton-\d$/)]
  const environments = members.map((name) => compose.services[name].environment as Environment)
  const server = compose.services[servers[0]!]

  test('three members that know one another, each on a volume of its own', () => {
    expect(members).toHaveLength(COUNT)
    for (const [index, name] of members.entries()) {
      const { volumes, image: imageName, build, ports } = compose.services[name]
      expect([imageName, ports]).toEqual(['etcd', undefined])
      expect(join(root, 'deploy', build.context, build.dockerfile)).toBe(pathTo('etcd.Dockerfile'))
      expect(volumes).toEqual([`${name}:${DATA}`])
      expect(environments[index]).toMatchObject({
        ETCD_NAME: name,
        ETCD_INITIAL_CLUSTER: members.map((each) => `${each}=http://${each}:2380`).join(','),
        ETCD_INITIAL_ADVERTISE_PEER_URLS: `http://${name}:2380`,
      })
    }
    expect(Object.keys(compose.volumes)).toEqual(members)
  })

  test('three servers over all of them, on this machine alone, with tokens that come as a secret', () => {
    expect(servers).toHaveLength(COUNT)
    const ports = servers.map((name) => compose.services[name].ports)
    expect(ports).toEqual([8086, 8087, 8088].map((port) => [`127.0.0.1:${port}:8086`]))
    for (const name of servers) {
      const { environment, depends_on, secrets, stop_grace_period } = compose.services[name]
      expect(environment).toEqual(server.environment)
      expect(depends_on).toEqual(members)
      expect(secrets.map((each: string) => `/run/secrets/${each}`)).toEqual([environment.BATON_TOKENS])
      expect(parseInt(stop_grace_period, 10)).toBeGreaterThan(10)
    }
    const store = `etcd://${members.map((name) => `${name}:2379`).join(',')}`
    expect(configOf({ ...image.environment, ...server.environment })).toMatchObject({ port: 8086, store })
  })

  test('they run', () => runs('compose', environments, server.environment), 60_000)
})

describe('kubernetes', () => {
  const [etcd, servers] = [objects['StatefulSet etcd'], objects['Deployment baton']]
  const [member] = etcd.spec.template.spec.containers
  const [server] = servers.spec.template.spec.containers
  /** As Kubernetes gives it to one of the pods. */
  const environmentOf = (container: typeof member, pod: string): Environment => {
    const values: Record<string, string> = {}
    for (const { name, value, valueFrom } of container.env) {
      if (valueFrom?.fieldRef) values[name] = pod
      else if (valueFrom)
        values[name] = objects[`Secret ${valueFrom.secretKeyRef.name}`].stringData[valueFrom.secretKeyRef.key]
      else values[name] = value.replaceAll(/\$\((\w+)\)/g, (_: string, other: string) => values[other])
    }
    return values
  }
  const pods = Array.from({ length: COUNT }, (_, index) => `etcd-${index}`)

  test('members, servers, and a budget and a service for each', () => {
    const kinds = Object.keys(objects).filter((name) => !name.startsWith('Secret'))
    expect(kinds.sort()).toEqual(
      [
        'Service etcd',
        'StatefulSet etcd',
        'PodDisruptionBudget etcd',
        'Service baton',
        'Deployment baton',
        'PodDisruptionBudget baton',
      ].sort(),
    )
    expect([etcd.spec.replicas, servers.spec.replicas]).toEqual([COUNT, COUNT])
    for (const [name, set] of Object.entries({ etcd, baton: servers })) {
      const { labels } = set.spec.template.metadata
      expect(set.spec.selector.matchLabels).toEqual(labels)
      expect(objects[`Service ${name}`].spec.selector).toEqual(labels)
      const { maxUnavailable, selector } = objects[`PodDisruptionBudget ${name}`].spec
      // A majority stays.
      expect([maxUnavailable, selector.matchLabels]).toEqual([1, labels])
      const pod = set.spec.template.spec
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
      expect(pod.enableServiceLinks).toBe(false)
      expect(pod.containers[0].securityContext).toMatchObject({ readOnlyRootFilesystem: true })
    }
    expect(servers.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(10)
  })

  test('members have names of their own before they are ready, volumes, and never share a machine', () => {
    const { clusterIP, publishNotReadyAddresses } = objects['Service etcd'].spec
    expect({ clusterIP, publishNotReadyAddresses }).toEqual({ clusterIP: 'None', publishNotReadyAddresses: true })
    expect([etcd.spec.serviceName, etcd.spec.podManagementPolicy]).toEqual(['etcd', 'Parallel'])
    const [{ topologyKey, labelSelector }] =
      etcd.spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution
    expect([topologyKey, labelSelector.matchLabels]).toEqual(['kubernetes.io/hostname', { app: 'etcd' }])
    const [claim] = etcd.spec.volumeClaimTemplates
    expect(member.volumeMounts).toEqual([{ name: claim.metadata.name, mountPath: DATA }])
    const cluster = pods.map((pod) => `${pod}=http://${pod}.etcd:2380`).join(',')
    for (const pod of pods)
      expect(environmentOf(member, pod)).toMatchObject({
        ETCD_NAME: pod,
        ETCD_INITIAL_CLUSTER: cluster,
        ETCD_INITIAL_ADVERTISE_PEER_URLS: `http://${pod}.etcd:2380`,
      })
  })

  test('servers are over all of them, with tokens such as they take, and are asked whether they are ready', () => {
    const environment = environmentOf(server, 'baton')
    const store = `etcd://${pods.map((pod) => `${pod}.etcd:2379`).join(',')}`
    expect(configOf({ ...image.environment, ...environment })).toMatchObject({ port: 8086, store })
    const [{ secret }] = servers.spec.template.spec.volumes
    const [file] = Object.keys(objects[`Secret ${secret.secretName}`].stringData)
    expect(environment.BATON_TOKENS).toBe(join(server.volumeMounts[0].mountPath, file!))
    writeFileSync(folder.path('tokens.toml'), objects[`Secret ${secret.secretName}`].stringData[file!])
    expect(readTokensFile(folder.path('tokens.toml'))).toHaveLength(1)
    const paths = ['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => server[probe].httpGet.path)
    expect(paths).toEqual(['/healthz', '/readyz', '/healthz'])
    expect(member.readinessProbe.httpGet.path).toBe('/health')
  })

  let members: readonly Environment[]
  beforeAll(() => {
    members = pods.map((pod) => environmentOf(member, pod))
  })
  test('they run', () => runs('kubernetes', members, environmentOf(server, 'baton')), 60_000)
})

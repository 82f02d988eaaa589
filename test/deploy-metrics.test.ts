import { families } from '@baton-lock/server/metrics/families'
import { describe, expect, test } from 'vitest'
import { allQueries, metricsIn, panelQueries, readDashboard, readRules } from './deploy/queries.ts'

/* What deploy/ has for Prometheus and Grafana. Whether it is well-formed, promtool says: test/deploy-promtool.test.ts. */

const dashboard = readDashboard()
const queries = allQueries(dashboard)

test('every metric that the dashboard and the alerts ask for is one that the server tells', () => {
  const unknown = queries.flatMap((query) => metricsIn(query).map((name) => [query.where, name] as const))
  expect(unknown.filter(([, name]) => !(name in families))).toEqual([])
  // Beside these there is only what Prometheus knows by itself.
  const others = queries.filter((query) => metricsIn(query).length === 0 && query.text !== '')
  expect(others.map(({ where }) => where)).toEqual(['BatonDown', 'BatonAbsent'])
})

test('every label that they ask for is one that the metric has', () => {
  const always = ['job', 'instance']
  for (const { where, text } of queries) {
    for (const [, metric, conditions] of text.matchAll(/\b(baton_\w+?)(?:_bucket)?\{([^}]*)\}/g)) {
      const asked = [...conditions!.matchAll(/(\w+)\s*=~?\s*"/g)].map(([, label]) => label!)
      const { labels, type } = families[metric!]!
      const had = [...always, ...labels, ...(type === 'summary' ? ['quantile'] : [])]
      expect([where, metric, asked.filter((label) => !had.includes(label))]).toEqual([where, metric, []])
    }
  }
})

test('values of several servers are put together as the metric says', () => {
  for (const { where, text } of queries) {
    for (const [, how, inner] of text.matchAll(/\b(sum|max|min)(?: by \([^)]*\))? \(((?:[^()]|\([^()]*\))*)\)/g)) {
      for (const name of metricsIn({ where, text: inner! }))
        expect([where, name, how]).toEqual([where, name, families[name]!.over])
    }
  }
})

test('every metric is shown on the dashboard', () => {
  const shown = new Set(panelQueries(dashboard).flatMap(metricsIn))
  expect(Object.keys(families).filter((name) => !shown.has(name))).toEqual([])
})

describe('the dashboard', () => {
  test('can be imported: it has an id, the data source is chosen in it, and every panel uses that', () => {
    expect(dashboard).toMatchObject({ uid: 'baton', title: 'Baton' })
    // A number of its own would be that of another dashboard where it is imported.
    expect(dashboard).not.toHaveProperty('id')
    const [first, ...others] = dashboard.templating.list
    expect(first).toMatchObject({ name: 'datasource', type: 'datasource' })
    expect(others.map(({ name }) => name)).toEqual(['job', 'instance', 'namespace', 'operation'])
    const chosen = { type: 'prometheus', uid: `\${${first!.name}}` }
    for (const { type, title, datasource, targets = [], description } of dashboard.panels) {
      if (type === 'row') continue
      expect([title, datasource, (description ?? '').length > 0]).toEqual([title, chosen, true])
      expect(targets.length).toBeGreaterThan(0)
      for (const target of targets) expect(target.datasource).toEqual(chosen)
    }
  })

  test('uses only variables that it has, and those of Grafana', () => {
    const known = new Set([...dashboard.templating.list.map(({ name }) => name), '__rate_interval'])
    const used = queries.flatMap(({ text }) => [...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name!))
    const alerts = readRules().map(({ expr }) => expr)
    expect(alerts.filter((expr) => expr.includes('$'))).toEqual([])
    expect([...new Set(used)].filter((name) => !known.has(name))).toEqual([])
  })

  test('no two panels lie over one another, nor share an id', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
  })
})

test('every alert says how bad it is, what it is, and what to do', () => {
  const rules = readRules()
  for (const { alert, labels, annotations } of rules) {
    expect([alert, annotations.runbook.length > 40, annotations.summary.length > 20]).toEqual([alert, true, true])
    expect(['warning', 'critical']).toContain(labels.severity)
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
})

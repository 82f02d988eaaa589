import { read, readYaml } from './files.ts'

/** A query in PromQL, and where it stands. */
export interface Query {
  readonly where: string
  readonly text: string
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: object
  readonly targets?: readonly { readonly expr: string; readonly refId: string; readonly datasource: object }[]
}

interface Variable {
  readonly name: string
  readonly type: string
  readonly definition?: string
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
}

export const readDashboard = (): Dashboard => JSON.parse(read('grafana-dashboard.json'))

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

export const readRules = (): readonly Rule[] =>
  readYaml('prometheus-rules.yaml').groups.flatMap(({ rules }: { rules: readonly Rule[] }) => rules)

/** Those of the panels. */
export function panelQueries({ panels }: Dashboard): readonly Query[] {
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ where: title, text: expr })))
}

/** All, with those of the alerts and of the variables at the top of the dashboard. */
export function allQueries(dashboard: Dashboard): readonly Query[] {
  const alerts = readRules().map(({ alert, expr }) => ({ where: alert, text: expr }))
  const variables = dashboard.templating.list.map(({ name, definition = '' }) => ({ where: name, text: definition }))
  return [...panelQueries(dashboard), ...alerts, ...variables]
}

/** The metrics that a query names, by the names of their families. */
export function metricsIn({ text }: Query): readonly string[] {
  return [...text.matchAll(/\bbaton_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))
}

import type { Family, Sample } from './families.ts'

/** The text format of Prometheus, https://prometheus.io/docs/instrumenting/exposition_formats */
export const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function familyText(name: string, { type, help }: Family, samples: readonly Sample[]): string {
  const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`]
  for (const { metricName = name, labels, value } of samples)
    lines.push(`${metricName}${labelText(labels)} ${numberText(value)}`)
  return `${lines.join('\n')}\n`
}

function labelText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function numberText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

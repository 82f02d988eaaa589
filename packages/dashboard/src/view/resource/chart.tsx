const WIDTH = 120
const HEIGHT = 32

interface ChartProps {
  /** One list of numbers a line, oldest first; nothing where it is not known. */
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[]
  /** What it shows, in words. */
  readonly label: string
}

/** A small picture of the last minutes: the first line is filled. */
export function Chart({ lines, label }: ChartProps) {
  const known = lines.flatMap(({ values }) => values.filter((value) => value !== undefined))
  const top = Math.max(...known, 1e-9)
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      {lines.map(({ name, values }, index) => {
        const line = pathOf(values, top)
        if (line === '') return null
        return (
          <g key={name} class={`line line-${index}`}>
            {index === 0 && <path class="area" d={`${line}V${HEIGHT}H${firstX(values)}Z`} />}
            <path class="stroke" d={line} />
          </g>
        )
      })}
    </svg>
  )
}

function xOf(index: number, count: number): number {
  return count < 2 ? WIDTH : (index / (count - 1)) * WIDTH
}

function firstX(values: readonly (number | undefined)[]): number {
  return xOf(
    values.findIndex((value) => value !== undefined),
    values.length,
  )
}

/** What is not known is drawn through. */
function pathOf(values: readonly (number | undefined)[], top: number): string {
  let path = ''
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue
    const y = HEIGHT - 1.5 - (value / top) * (HEIGHT - 4)
    path += `${path === '' ? 'M' : 'L'}${xOf(index, values.length).toFixed(1)} ${y.toFixed(1)}`
  }
  return path
}

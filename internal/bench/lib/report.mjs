// Prints a result as a table, and writes it as JSON and as a chart to internal/bench/results.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chartOf } from './chart.mjs'
import { figureText } from './figure-text.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** If the load per core was higher than this before a run, its figures say nothing about speed. */
const QUIET_LOAD = 0.3

/** The machine and the build; taken before anything is measured. */
export function circumstances() {
  const git = (...args) => spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' }).stdout?.trim()
  const load = loadavg()[0] / cpus().length
  return {
    commit: git('rev-parse', '--short', 'HEAD'),
    isChanged: git('status', '--porcelain', '--', 'packages') !== '',
    node: process.version,
    cpu: cpus()[0].model,
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    load: Number(load.toFixed(2)),
    isQuiet: load <= QUIET_LOAD,
  }
}

export function report({ name, title, settings, rows, series = [], notes = [], around }) {
  console.log(`\n${title}\n${sentenceOf(around)}\n`)
  console.log(tableOf(rows))
  for (const note of notes) console.log(note)
  const folder = settings.out ?? fileURLToPath(new URL('../results', import.meta.url))
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}-node${process.versions.node.split('.')[0]}`)
  const result = { name, title, around, settings, rows, ...(series.length > 0 && { series }), notes }
  writeFileSync(`${file}.json`, `${JSON.stringify(result, rounded, 2)}\n`)
  writeFileSync(`${file}.svg`, chartOf({ title, subtitle: sentenceOf(around), rows, series }))
  console.log(`\n${file}.json and .svg`)
}

function sentenceOf({ commit, isChanged, node, cpu, cores, load, isQuiet }) {
  const busy = isQuiet ? '' : ': BUSY, so these figures only show that it runs'
  return `${commit}${isChanged ? ' (changed)' : ''}, Node ${node}, ${cores} cores of ${cpu}, load ${load} a core before${busy}`
}

function tableOf(rows) {
  const head = ['what', 'baton', 'beside', 'ratio or figure', 'spread', 'wanted', '']
  const lines = rows.map((row) =>
    row.kind === 'left out' ? [row.what, 'left out', row.why, '', '', '', ''] : lineOf(row),
  )
  const widths = head.map((title, column) => {
    // The reason for leaving a row out may be longer than its column: the cells after it are empty.
    const cells = lines.filter((line) => column !== 2 || line[1] !== 'left out').map((line) => line[column].length)
    return Math.max(title.length, ...cells)
  })
  return [head, ...lines]
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function lineOf({ what, unit, figures: { baton, ...others }, kind, value, spread, wanted, isMet }) {
  const beside = Object.entries(others).map(([name, figure]) => `${name} ${figureText(figure, unit)}`)
  const own = kind === 'ratio' ? (each) => each.toFixed(2) : (each) => figureText(each, unit)
  return [
    what,
    figureText(baton, unit),
    beside.join(', '),
    own(value),
    spread.map(own).join(' to '),
    wantedText(wanted, own),
    wanted.least === undefined && wanted.most === undefined ? '' : isMet ? 'met' : 'NOT MET',
  ]
}

function wantedText({ least, most, aim }, own) {
  const bound = least === undefined ? (most === undefined ? '' : `at most ${own(most)}`) : `at least ${own(least)}`
  return aim === undefined ? bound : `${bound} (aim ${own(aim)})`
}

const rounded = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value)

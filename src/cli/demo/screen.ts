import type { Output } from '../context.ts'
import type { Paint } from '../print/paint.ts'
import type { Board, Line } from './board.ts'
import { GRID_WIDTH, renderGrid, renderLegend, renderLine, renderTotals } from './grid.ts'
import type { Fetch } from './registry.ts'

export interface Screen {
  line(line: Line): void
  /** Leaves the last picture standing, and the cursor as it was. */
  end(): void
}

const FRAME_MS = 80
const LINES_SHOWN = 6
/** A picture that is higher than the terminal could not be drawn over. */
const PICTURE_HEIGHT = 22
const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'

interface Picture {
  readonly board: Board
  readonly fetches: () => readonly Fetch[]
  readonly paint: Paint
}

/** A picture that moves, where there is room for it; lines otherwise. */
export function openScreen(output: Output, picture: () => Picture | undefined, paint: Paint): Screen {
  const roomy = (output.columns ?? 0) >= GRID_WIDTH && (output.rows ?? 0) >= PICTURE_HEIGHT
  const moves = output.isTTY === true && roomy
  return moves ? movingScreen(output, picture) : lineScreen(output, picture, paint)
}

function lineScreen(output: Output, picture: () => Picture | undefined, paint: Paint): Screen {
  return {
    line: (line) => output.write(`${renderLine(line, paint)}\n`),
    end() {
      const last = picture()
      if (last) output.write(`\n${stillPicture(last).join('\n')}\n`)
    },
  }
}

function movingScreen(output: Output, picture: () => Picture | undefined): Screen {
  let height = 0
  const draw = (lines: readonly string[]) => {
    const up = height > 0 ? `\u001b[${height}A` : ''
    output.write(`${up}\r\u001b[J${lines.join('\n')}\n`)
    height = lines.length
  }
  const frame = () => {
    const now = picture()
    if (now) draw(movingPicture(now, output.columns ?? GRID_WIDTH))
  }
  output.write(HIDE_CURSOR)
  const frames = setInterval(frame, FRAME_MS)
  return {
    line() {},
    end() {
      clearInterval(frames)
      const last = picture()
      if (last) draw(stillPicture(last))
      output.write(SHOW_CURSOR)
    },
  }
}

function stillPicture({ board, fetches, paint }: Picture): string[] {
  return [...renderGrid(board, fetches(), paint), '', renderLegend(paint), '']
}

function movingPicture({ board, fetches, paint }: Picture, width: number): string[] {
  // Cut before it is painted: a line that wraps would spoil the picture.
  const news = board.lines.slice(-LINES_SHOWN).map((line) => ({ ...line, text: line.text.slice(0, width - 12) }))
  const lines = news.map((line) => renderLine(line, paint))
  while (lines.length < LINES_SHOWN) lines.push('')
  return [...stillPicture({ board, fetches, paint }), renderTotals(board, paint), '', ...lines]
}

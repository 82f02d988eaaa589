const PATHS = {
  baton: (
    <g transform="rotate(-45 12 12)">
      <rect x="1.5" y="8" width="21" height="8" rx="4" fill="currentColor" />
      <rect x="7" y="8" width="2.2" height="8" fill="var(--surface)" />
      <rect x="14.8" y="8" width="2.2" height="8" fill="var(--surface)" />
    </g>
  ),
  half: (
    <>
      <circle cx="12" cy="12" r="8" />
      <path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor" />
    </>
  ),
  sun: (
    <>
      <circle cx="12" cy="12" r="4" />
      <path d="M12 2.5v2.5M12 19v2.5M2.5 12H5M19 12h2.5M5.3 5.3l1.8 1.8M16.9 16.9l1.8 1.8M5.3 18.7l1.8-1.8M16.9 7.1l1.8-1.8" />
    </>
  ),
  moon: <path d="M20 14.5A8.5 8.5 0 1 1 9.5 4 7 7 0 0 0 20 14.5z" />,
  keyboard: (
    <>
      <rect x="2.5" y="6" width="19" height="12" rx="2" />
      <path d="M6.5 10h.01M10 10h.01M14 10h.01M17.5 10h.01M8 14h8" />
    </>
  ),
  warning: <path d="M12 4 2.8 20h18.4zM12 10v4.5M12 17.2v.1" />,
  search: (
    <>
      <circle cx="11" cy="11" r="6" />
      <path d="m16 16 4.5 4.5" />
    </>
  ),
  pause: <path d="M9 5.5v13M15 5.5v13" />,
  play: <path d="m8 5.5 10.5 6.5L8 18.5z" />,
  back: <path d="m14.5 5.5-6.5 6.5 6.5 6.5" />,
} as const

type IconName = keyof typeof PATHS

/** A picture that says nothing which is not also in words. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      {PATHS[name]}
    </svg>
  )
}

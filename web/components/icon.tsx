/** Line icons, 16 px, drawn here. */
const paths = {
  key: 'M10.5 2a3.5 3.5 0 1 0-3.3 4.6L2 11.8V14h2.5v-2H6v-1.5h1.5L9 9a3.5 3.5 0 0 0 1.5-7Zm.7 2.6h.01',
  log: 'M3 3h10M3 6.5h10M3 10h7M3 13.5h5',
  channel: 'M2 4h5l2 8h5M2 12h3M11 4h3M12.5 2.5 14 4l-1.5 1.5M12.5 10.5 14 12l-1.5 1.5',
  close: 'm4 4 8 8m0-8-8 8',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1m8 8 1 1M3 13l1-1m8-8 1-1',
  menu: 'M2 4h12M2 8h12M2 12h12',
  out: 'M6 2H3v12h3M10 5l3 3-3 3M13 8H6',
  copy: 'M5 5V2.5h8.5V11H11M2.5 5H11v8.5H2.5Z',
  plus: 'M8 3v10M3 8h10',
  home: 'M2 7.5 8 2l6 5.5V14h-4v-4H6v4H2Z',
  users:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c.5-2.5 2.2-4 4.5-4s4 1.5 4.5 4M10.5 7.5a2.2 2.2 0 0 0 0-4.4M12 9.8c1.4.5 2.2 1.8 2.5 3.7',
  gear: 'M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4ZM8 1.8v1.6M8 12.6v1.6M14.2 8h-1.6M3.4 8H1.8M12.4 3.6l-1.1 1.1M4.7 11.3l-1.1 1.1M12.4 12.4l-1.1-1.1M4.7 4.7 3.6 3.6',
  chat: 'M2.5 3h11v8H7l-3 2.5V11H2.5Z',
  code: 'M2 5.5V3h12v2.5a2.5 2.5 0 0 0 0 5V13H2v-2.5a2.5 2.5 0 0 0 0-5ZM9 5.5v5',
  terminal: 'M2 3h12v10H2ZM4.5 6l2 2-2 2M8.5 10h3',
  columns: 'M2.5 3h11v10h-11ZM6.2 3v10M9.8 3v10',
  more: 'M3 8a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0M7.5 8a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0M12 8a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0',
  bolt: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8Z',
  edit: 'M10.5 2.5 13.5 5.5 5.5 13.5H2.5v-3Z',
  refresh: 'M13.5 8A5.5 5.5 0 1 1 11.8 4M12 1.5V4.5H9',
  trash: 'M2.5 4h11M6 4V2.5h4V4M4 4l0.7 9.5h6.6L12 4',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14',
  alert: 'M8 2.5 14.5 13.5h-13ZM8 6.5v3M8 11.5h.01',
  bell: 'M3.5 11.5h9L11.5 10V7a3.5 3.5 0 0 0-7 0v3ZM6.8 13.5h2.4',
  globe:
    'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 1.8 2.6 3.8 2.6 6S10 12.2 8 14C6 12.2 5.4 10.2 5.4 8S6 3.8 8 2Z',
  moon: 'M13.5 9.5A5.8 5.8 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7Z',
  chart: 'M2.5 13.5h11M4.5 13.5V8M8 13.5V3M11.5 13.5V6',
  tag: 'M2.5 2.5H8l5.5 5.5L8 13.5 2.5 8ZM5.3 5.3h.01',
  image: 'M2 3h12v10H2ZM2 11l3.5-3.5 3 3L10.5 8.5 14 12M10.5 5.5h.01',
  node: 'M2.5 3h11v4h-11ZM2.5 9h11v4h-11ZM5 5h.01M5 11h.01',
  task: 'M2.5 4l1 1 2-2M2.5 8.5l1 1 2-2M2.5 13l1 1 2-2M8 4h6M8 8.5h6M8 13h6',
  person: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.6-3 2.7-4.5 5.5-4.5s4.9 1.5 5.5 4.5',
  fold: 'M2.5 3h11v10h-11ZM6 3v10M11 6.5 9.5 8l1.5 1.5',
  unfold: 'M2.5 3h11v10h-11ZM6 3v10M9.5 6.5 11 8 9.5 9.5',
  check: 'm3 8.5 3.5 3.5L13 5',
  down: 'm4 6 4 4 4-4',
  up: 'm4 10 4-4 4 4',
  grip: 'M6 4h.01M10 4h.01M6 8h.01M10 8h.01M6 12h.01M10 12h.01',
  chain: 'M6.5 9.5l3-3M7.5 4.5 9 3a2.8 2.8 0 0 1 4 4l-1.5 1.5M8.5 11.5 7 13a2.8 2.8 0 0 1-4-4l1.5-1.5',
  book: 'M3 2.5h8.5a1.5 1.5 0 0 1 1.5 1.5v9.5H4.5A1.5 1.5 0 0 1 3 12ZM3 12a1.5 1.5 0 0 1 1.5-1.5H13',
  help: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.3 6.3a1.7 1.7 0 1 1 2.5 1.5c-.6.3-.8.6-.8 1.2M8 11.2h.01',
  calendar: 'M2.5 3.5h11v10h-11ZM2.5 7h11M5.5 2v3M10.5 2v3',
  card: 'M2 3.5h12v9H2ZM2 6.5h12M4.5 10h2.5',
  plug: 'M5.5 2v3.5M10.5 2v3.5M3.5 5.5h9V8a4.5 4.5 0 0 1-9 0ZM8 12.5V15',
  gauge: 'M2 12a6 6 0 1 1 12 0M8 12l3-4M2 12h1.5M12.5 12H14M8 6v1.5',
  history: 'M8 4.5V8l2.5 1.5M2.6 6.5A5.7 5.7 0 1 1 2.4 9M2.5 3v3.5H6',
  receipt: 'M3.5 2v12l1.5-1 1.5 1 1.5-1 1.5 1 1.5-1 1.5 1V2l-1.5 1-1.5-1L8 3 6.5 2 5 3ZM6 6.5h4M6 9.5h4',
  wallet: 'M2 4.5h11.5V13H2ZM2 4.5 11 2v2.5M10.5 8.7h3',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      className="size-4 flex-none"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}

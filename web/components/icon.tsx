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

/** What the runtime reads before any of our code runs, so that a process without it begins once more (see `main.ts`). */
export const processSettings = {
  /** Bun's fetch stops at 256 requests at once. */
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  /** Its allocator gives pages back after 10 ms, to fault them in again with the next request. */
  MIMALLOC_PURGE_DELAY: '1000',
};

/** As units and images set it: a server that they start need not begin twice. */
export const processSettingsText = Object.entries(processSettings)
  .map(([name, value]) => `${name}=${value}`)
  .join(' ');

/** Downloads the rows of the present filter. */
import { download } from '../../lib/download.ts';

export async function exportLogs(
  admin: boolean,
  filters: Readonly<Record<string, string | number>>,
  format: 'csv' | 'jsonl',
): Promise<void> {
  const present = Object.entries(filters).filter(([, value]) => value !== '' && value !== 0);
  const query = new URLSearchParams([['format', format], ...present.map(([name, value]) => [name, String(value)])]);
  await download(`/api/log/${admin ? '' : 'self/'}export?${query}`, `logs.${format}`);
}

/** Downloads the rows of the present filter. */
import { readUser } from '../../lib/session.ts';

export async function exportLogs(
  admin: boolean,
  filters: Readonly<Record<string, string | number>>,
  format: 'csv' | 'jsonl',
): Promise<void> {
  const present = Object.entries(filters).filter(([, value]) => value !== '' && value !== 0);
  const query = new URLSearchParams([['format', format], ...present.map(([name, value]) => [name, String(value)])]);
  const response = await fetch(`/api/log/${admin ? '' : 'self/'}export?${query}`, {
    headers: { 'new-api-user': String(readUser()?.id ?? '') },
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = `logs.${format}`;
  link.click();
  URL.revokeObjectURL(address);
}

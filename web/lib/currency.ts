/** How prices and sizes of models are written. Pure. */

const significant = 6;
const places = 10;

/** Two decimals at least, and as many more as the price has. @param dollars null = none. */
export function dollarText(dollars: number | null): string {
  if (dollars === null) return '–';
  const [whole = '0', fraction = ''] = Number(dollars.toPrecision(significant)).toFixed(places).split('.');
  return `${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`;
}

const thousand = 1000;
const million = 1_000_000;

/** `128k`, `1M`. @param tokens null = unknown. */
export function sizeText(tokens: number | null): string {
  if (tokens === null) return '–';
  // 999,999 is 1M, not 1000k.
  if (Math.round(tokens / thousand) >= thousand) return `${Number((tokens / million).toFixed(1))}M`;
  return tokens >= thousand ? `${Math.round(tokens / thousand)}k` : String(tokens);
}

/** A document as it is printed or kept as PDF: invoice, credit note, statement. Its colours and type are its own, whatever the theme. */
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

export interface Party {
  readonly name: string;
  /** Lines of it are apart by line breaks. */
  readonly address: string;
  readonly tax_id: string;
}

/** A text as a string of CSS, whatever stands in it. */
const cssString = (text: string): string =>
  `"${[...text].map((one) => (/[\p{L}\p{N} ·-]/u.test(one) ? one : `\\${one.codePointAt(0)?.toString(16)} `)).join('')}"`;

/** Latin letters that fit beside the number of the sheet; Chinese ones are twice as wide. */
const footLetters = 96;

/** @returns its beginning, where it is longer than one line at the foot of a sheet. */
function onOneLine(name: string): string {
  let room = footLetters;
  const letters = [...name];
  const end = letters.findIndex((letter) => {
    room -= /[\u2e80-\uffef]/.test(letter) ? 2 : 1;
    return room < 0;
  });
  return end < 0 ? name : `${letters.slice(0, end).join('')}…`;
}

/** At the foot of each sheet: what it belongs to, and which of how many it is. */
const sheetRules = (name: string): string =>
  `@page { margin: 16mm 15mm 18mm; @bottom-left { content: ${cssString(onOneLine(name))}; font-size: 8pt; color: #555; } @bottom-right { white-space: nowrap; content: counter(page) " / " counter(pages); font-size: 8pt; color: #555; } }`;

export function PartyBlock({ label, party }: { readonly label: string; readonly party: Party }) {
  const { t } = useTranslation();
  return (
    <div>
      <p className="paper-label">{label}</p>
      <p className="paper-name">{party.name}</p>
      {party.address === '' ? null : <p className="whitespace-pre-line">{party.address}</p>}
      {party.tax_id === '' ? null : <p>{t('paper.taxId', { id: party.tax_id })}</p>}
    </div>
  );
}

/** An amount with the minus sign of print, which is as wide as a digit: money that is given back stands below the rest. */
export const printed = (amount: string): string => amount.replace(/^-/, '\u2212');

export interface PaperProps {
  readonly title: string;
  /** At the foot of each sheet. */
  readonly name: string;
  readonly from: ReactNode;
  readonly to: ReactNode;
  readonly facts: readonly (readonly [label: string, value: ReactNode])[];
  readonly children: ReactNode;
}

export function Paper({ title, name, from, to, facts, children }: PaperProps) {
  return (
    <article className="paper" aria-label={`${title} ${name}`}>
      <style>{sheetRules(name)}</style>
      <header className="paper-head">
        <h2>{title}</h2>
        <div className="paper-parties">
          {from}
          {to}
          <dl>
            {facts.map(([label, value]) => (
              <div key={label}>
                <dt className="paper-label">{label}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </div>
      </header>
      {children}
    </article>
  );
}

/** Label and amount, the last of them under a rule and above two. */
export function Sums({ rows, span }: { readonly rows: readonly (readonly [string, string])[]; readonly span: number }) {
  return (
    <tbody className="paper-sums">
      {rows.map(([label, amount], at) => (
        <tr key={label} className={at === rows.length - 1 ? 'paper-due' : undefined}>
          <th scope="row" colSpan={span}>
            {label}
          </th>
          <td className="number">{amount}</td>
        </tr>
      ))}
    </tbody>
  );
}

/** What some panels offer besides their options. */
import type { Options } from '../use-options.ts';
import { AlertRulesLink } from './alert-rules-link.tsx';
import { AlertTest } from './alert-test.tsx';
import { BackupNow } from './backup-now.tsx';
import { ClearLogs } from './clear-logs.tsx';
import { InvoicePreview } from './invoice-preview.tsx';
import { MailTest } from './mail-test.tsx';
import { OidcDiscovery } from './oidc-discovery.tsx';

export interface PanelExtraProps {
  readonly panel: string;
  readonly options: Options;
  readonly onSaved: () => void;
}

export function PanelExtra({ panel, options, onSaved }: PanelExtraProps) {
  if (panel === 'logs') return <ClearLogs />;
  if (panel === 'mail') return <MailTest unsaved={options.changed.length > 0} />;
  if (panel === 'invoices') return <InvoicePreview options={options} />;
  if (panel === 'alerts') return <AlertRulesLink />;
  if (panel === 'alertTargets') return <AlertTest />;
  if (panel === 'backups') return <BackupNow />;
  if (panel === 'oidc')
    return <OidcDiscovery stored={options.stored.get('oidc.well_known')?.value ?? ''} onSaved={onSaved} />;
  return null;
}

/** The way from the options of alerts to the sentences that they stand in. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';

export function AlertRulesLink() {
  const { t } = useTranslation();
  return (
    <p className="border-t border-line px-4 py-3">
      <Link href="/alert" className="button">
        {t('alertRules.link')}
      </Link>
    </p>
  );
}

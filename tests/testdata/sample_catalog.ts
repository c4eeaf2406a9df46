import { ICON_HOST } from "../support/peers/browser.ts";
import type { Group, Offer } from "../support/worlds/ui_world.ts";

const docs = (name: string) => `https://docs.example.org/${name}`;

/** The Exports of a realistic catalog. */
export const SAMPLE_OFFERS: readonly Offer[] = [
  {
    name: "postgresql",
    title: "PostgreSQL",
    description:
      "Relational databases with point-in-time recovery, daily backups and a connection Secret " +
      "for each database. Versions 15 to 18, single or highly available.",
    icon: { url: `https://${ICON_HOST}/postgresql.svg` },
    docs: docs("postgresql"),
    apis: ["databases.pg.example.org", "backups.pg.example.org", "users.pg.example.org"],
    defaults: {
      relatedResources: [{
        resource: "secrets",
        direction: "FromProvider",
        selector: { labelSelector: { matchLabels: { "pg.example.org/connection": "true" } } },
      }],
    },
  },
  {
    name: "mysql",
    title: "MySQL",
    description: "Managed MySQL 8 with replicas in three zones.",
    icon: { url: `https://${ICON_HOST}/broken.svg` },
    docs: docs("mysql"),
    apis: ["databases.mysql.example.org"],
  },
  {
    name: "object-storage",
    title: "Object storage",
    description: "Buckets that speak S3, with lifecycle rules and a quota for each team.",
    docs: docs("object-storage"),
    apis: [
      "buckets.storage.example.org",
      "bucketpolicies.storage.example.org",
      "bucketusers.storage.example.org",
      "quotas.storage.example.org",
    ],
    defaults: {
      relatedResources: [{
        resource: "configmaps",
        direction: "FromConsumer",
        selector: { names: ["lifecycle"] },
      }, {
        resource: "secrets",
        direction: "FromProvider",
        selector: { names: ["bucket-keys"] },
      }],
    },
  },
  {
    name: "message-queues",
    title: "Message queues",
    description:
      "Queues and topics with at-least-once delivery. Metrics and dead letters included.",
    icon: { url: `https://${ICON_HOST}/queues.svg` },
    apis: ["queues.messaging.example.org", "topics.messaging.example.org"],
  },
  {
    name: "certificates",
    title: "Certificates",
    description: "Certificates of the internal authority, renewed before they expire.",
    docs: docs("certificates"),
    apis: ["certificates.pki.example.org"],
    defaults: {
      relatedResources: [{
        resource: "secrets",
        direction: "FromConsumer",
        selector: { names: ["account-key"] },
      }],
    },
  },
  {
    name: "dns-records",
    title: "DNS records",
    description: "Names under apps.example.org for your services.",
    apis: ["records.dns.example.org"],
  },
  { name: "widgets", title: "Widgets", apis: ["widgets.example.org"] },
];

/** Its Collections; `dns-records` and `widgets` are in none. */
export const SAMPLE_GROUPS: readonly Group[] = [
  {
    name: "data",
    title: "Data",
    description: "Where state lives. Backups are taken every night and kept for 30 days.",
    exports: ["postgresql", "mysql", "object-storage"],
  },
  {
    name: "messaging",
    title: "Messaging and trust",
    description: "Between your services, and from them to the world.",
    exports: ["message-queues", "certificates"],
  },
];

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"poolwise/sim/wording"
)

// otherPools are pools that there is no model of, by the model that is nearest to each.
var otherPools = []struct {
	model string
	as    string
	names []string
}{
	{"handoff", "a lock-based Java pool with direct hand-off", []string{
		"hikari", "hikaricp", "hikaridatasource", "c3p0", "dbcp", "dbcp2", "commons_dbcp", "tomcat", "tomcat_jdbc", "tomcat_dbcp", "druid",
		"agroal", "vibur", "bonecp", "proxool", "jdbc", "java"}},
	{"semaphore", "permits and a list of idle connections", []string{
		"sqlalchemy", "queuepool", "psycopg", "psycopg_pool", "psycopg2", "asyncpg", "aiopg", "aiomysql",
		"pgx", "pgxpool", "puddle", "database/sql", "databasesql", "sql.db", "go",
		"npgsql", "ado.net", "sqlclient", "mysqlconnector",
		"node_postgres", "pg", "pg_pool", "mysql2", "knex", "tarn", "generic_pool", "sequelize", "prisma", "typeorm",
		"r2d2", "deadpool", "bb8", "mobc", "diesel",
		"activerecord", "connection_pool", "sequel", "ecto", "db_connection", "dbconnection", "poolboy"}},
	{"sqlx", "that of Rust", []string{"sqlx_core", "sqlx::pool", "sea_orm"}},
}

// poolers are tiers between programs and the server.
var poolers = []string{"pgbouncer", "odyssey", "pgcat", "supavisor", "pgpool", "pgpool_ii", "rds_proxy", "proxysql", "pgagroal"}

// nearestModel is the rest of a message about a name that is no model: what is known of a pool of that name, empty for nothing.
func nearestModel(name string) string {
	known := func(s string) bool { return wording.Same(s, name) || strings.EqualFold(s, name) }
	if slices.ContainsFunc(poolers, known) {
		return "; what stands between programs and the server is the section pooler, and this is the pool of the program"
	}
	for _, p := range otherPools {
		if slices.ContainsFunc(p.names, known) {
			return fmt.Sprintf("; nearest to it is %s (%s), which is not the same: poolwise models %[1]s", p.model, p.as)
		}
	}
	return ""
}

// lacking are options of other pools, by the first word of their group of synonyms or their own name, for which some models have
// nothing.
var lacking = []struct {
	names []string
	what  string
}{
	{[]string{"min_connections", "min_pool_size", "min", "min_idle", "minimum_idle", "min_size", "min_conns", "minimum", "initial_size", "initial_pool_size"}, "minimum"},
	{[]string{"idle_timeout", "max_idle", "max_idle_time", "max_conn_idle_time", "conn_max_idle_time", "min_evictable_idle_time", "idle_timeout_millis"}, "idle timeout"},
	{[]string{"max_lifetime", "lifetime", "max_age", "recycle", "pool_recycle", "max_conn_lifetime", "conn_max_lifetime"}, "lifetime"},
	{[]string{"max_idle_conns", "max_idle_connections", "max_idle_size"}, "limit of idle connections"},
	{[]string{"leak_detection_threshold", "remove_abandoned", "remove_abandoned_timeout"}, "leak detection"},
	{[]string{"keepalive_time", "keep_alive", "keepalive", "health_check_period"}, "keep-alive"},
	{[]string{"max_overflow", "overflow"}, "overflow: add it to the maximum"},
}

// lacks says what a pool model does not have that an option of another pool is about, empty if that is not known.
func lacks(key string) string {
	for _, l := range lacking {
		if slices.ContainsFunc(l.names, func(s string) bool { return wording.Same(s, key) }) {
			return l.what
		}
	}
	return ""
}
